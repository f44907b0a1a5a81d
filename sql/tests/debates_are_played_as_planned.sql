-- Debates of a run that are not in its plan, or are planned with a different topic or different sides.
select debates.run_tag, debates.debate_id
from staging.stg_debates as debates

inner join staging.stg_runs as runs
    on debates.run_tag = runs.run_tag
    and runs.source = 'run'

left join staging.stg_schedule as schedule
    on debates.run_tag = schedule.run_tag
    and debates.debate_id = schedule.debate_id

where
    schedule.debate_id is null
    or schedule.topic_id is distinct from debates.topic_id
    or schedule.pro_model_id is distinct from debates.pro_model_id
    or schedule.con_model_id is distinct from debates.con_model_id
