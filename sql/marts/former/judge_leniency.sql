-- One row per judge and dimension; formerly a table of its own.
select
    run_tag, judge_id, dimension,
    value as leniency,
    ci_low, ci_high, reason, count_debates, count_trials, count_clusters

from marts.judge_bias
-- No other kind has a dimension. With this condition, DuckDB does not compute the other kinds.
where bias = 'dimension_leniency' and dimension is not null
