"""Statistics as pure functions over arrays; `stats.sql` offers them to SQL.

agreement.py               agreement of judges beyond chance: kappas, alpha, AC1
bias.py                    a judge's preference for a side or for the longer speech
bradley_terry.py           Bradley-Terry ratings and their covariance
bradley_terry_controls.py  the same with side, speech length and ties in the model
cluster_rates.py           rates of debates that come in clusters: intervals and p values
correlation.py             Pearson, Spearman, Kendall
counted_games.py           games counted by topic and by pair of debaters
distributions.py           normal, t, binomial and chi-squared distributions in plain Python
elo.py                     Elo ratings in order of play
elo_orders.py              how much of an Elo rating depends on the order of the games
jackknife.py               intervals for statistics of clustered data, leaving out one cluster at a time
power.py                   how many games a test needs to detect a difference
quality.py                 how close a judge comes to what people say, with intervals over debates
rank_sets.py               ranges of ranks that hold for all debaters at once
significance.py            intervals for rates and means, tests of difference, many tests at once
standings.py               Bradley-Terry ratings with intervals and ranks
votes.py                   agreement of winners with a gold standard
sql/                       the same functions behind SQL signatures
"""
