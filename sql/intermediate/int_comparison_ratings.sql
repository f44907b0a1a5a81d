-- One row per subject of comparisons and rated debater.
select
    'run' as kind,
    run_tag as subject,
    model_id, is_simulated, rating, ci_low, ci_high, rank, games, count_topics, interval_method

from ratings.bradley_terry

union all

select
    'version' as kind,
    pool as subject,
    model_id, is_simulated, rating, ci_low, ci_high, rank, games, count_topics, interval_method

-- Debates of a version that are all simulated are compared with each other; otherwise only the real ones count.
from ratings.bradley_terry_pooled
where pool_kind = 'version'
qualify is_simulated = bool_and(is_simulated) over (partition by pool)
