-- One row per setting of a run.
select
    run_tag, item, part,
    case item when 'judge_methods' then macros.judge_method(value) else value end as value

from raw.run_settings
