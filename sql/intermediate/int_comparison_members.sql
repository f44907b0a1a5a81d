-- One row per subject and run in it: a run, or a benchmark version, which pools the runs that held its debates.
select
    'run' as kind,
    run_tag as subject,
    run_tag

from staging.stg_runs

union all

select
    'version' as kind,
    pool as subject,
    run_tag

from intermediate.int_pool_members as pool_members
where pool_kind = 'version'
