-- One row per benchmark version and debater with a rated debate in one of its runs; formerly a table of its own.
select
    pool as benchmark_version,
    model_id, is_simulated, rating, ci_low, ci_high, rank, rank_low, rank_high, games, count_topics,
    interval_method, is_separated, component, count_runs

from ratings.bradley_terry_pooled
where pool_kind = 'version' and not is_simulated
