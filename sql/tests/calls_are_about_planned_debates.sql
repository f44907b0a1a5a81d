-- Calls about debates that the plan of their run does not have, neither clean nor attacked.
with

planned as (

    select run_tag, debate_id from staging.stg_schedule
    union all
    select run_tag, debate_id from staging.stg_attacked_schedule

)

select calls.run_tag, calls.call_id, calls.attempt, calls.debate_id
from staging.stg_calls as calls

where
    not exists (
        select 1
        from planned
        where planned.run_tag = calls.run_tag and planned.debate_id = calls.debate_id
    )
