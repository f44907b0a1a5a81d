-- One row per debater with a rated debate: Elo over all runs.
select model_id, is_simulated, rating, count_runs, games, wins, losses, ties
from ratings.elo_pooled
where pool_kind = 'overall' and not is_simulated
order by rating desc, model_id
