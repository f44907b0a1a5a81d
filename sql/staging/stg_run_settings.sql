-- One row per setting of a run.
select run_tag, item, part, value from raw.run_settings
