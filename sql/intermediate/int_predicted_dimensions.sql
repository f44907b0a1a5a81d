-- One row per dimension of a run, and one for the whole debate (`overall`).
select run_tag, dimension, tie_band from staging.stg_dimensions
where dimension <> 'overall'

union all

select
    run_tag,
    'overall' as dimension,
    0 as tie_band

from staging.stg_runs
