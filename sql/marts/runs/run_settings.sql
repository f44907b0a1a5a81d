-- One row per setting of a run that could make its numbers other than those of another run.
select run_tag, item, part, value from staging.stg_run_settings
