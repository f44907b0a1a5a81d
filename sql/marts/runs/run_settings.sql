-- One row per setting of a run that could make its numbers other than those of another run.
select run_tag, item, part, value from staging.stg_run_settings

union all

-- The same SQL models derive every run of a warehouse.
select run_tag, 'sql_models' as item, 'build' as part, 'one for all runs' as value from staging.stg_runs
