-- One row per subject of comparisons (a run, or a benchmark version that pools the runs that held its debates) and run
-- in it.
select
    'run' as kind,
    run_tag as subject,
    run_tag

from staging.stg_runs

union all

select
    'version' as kind,
    benchmark_version as subject,
    run_tag

from staging.stg_runs
where benchmark_version is not null and source_run_tag is null
