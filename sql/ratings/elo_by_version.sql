-- One row per benchmark version and debater with a rated debate in one of its runs: Elo over all of them.
select pool as benchmark_version, model_id, is_simulated, rating, count_runs, games, wins, losses, ties
from ratings.elo_pooled
where pool_kind = 'version' and not is_simulated
order by benchmark_version, rating desc, model_id
