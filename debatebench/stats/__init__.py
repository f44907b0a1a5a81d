"""Statistics that need an iteration, as pure functions over arrays; `stats.sql` offers them to SQL.

A closed formula is a macro instead (`sql/macros/`).

bradley_terry.py           Bradley-Terry ratings and their covariance
bradley_terry_controls.py  the same with side, speech length and ties in the model
correlation.py             Spearman, Kendall
counted_games.py           games counted by topic and by pair of debaters
distributions.py           normal, t and binomial distributions in plain Python
elo.py                     Elo ratings in order of play
elo_orders.py              how much of an Elo rating depends on the order of the games
plackett_luce.py           ratings from rankings of more than two, such as debates of four teams
power.py                   how many games a test needs to detect a difference
quality.py                 how close a judge comes to what people say, and without each cluster of debates
rank_sets.py               ranges of ranks that hold for all debaters at once
significance.py            exact tests of counts, and the interval of a mean
standings.py               Bradley-Terry ratings with intervals and ranks
sql/                       the same functions behind SQL signatures
"""
