-- One row per debater with a rated debate in any run; formerly a table of its own.
select
    model_id, is_simulated, rating, ci_low, ci_high, rank, rank_low, rank_high, games, count_topics,
    interval_method, is_separated, component, count_runs

from ratings.bradley_terry_pooled
where pool_kind = 'overall' and not is_simulated
