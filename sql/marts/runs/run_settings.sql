-- One row per setting of a run that could make its numbers differ from another run's.
select run_tag, item, part, value from staging.stg_run_settings
