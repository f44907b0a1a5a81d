-- Debates of a run that are not in its plan, or are planned with a different topic, different sides or another attack.
with

debates as (

    select run_tag, debate_id, topic_id, pro_model_id, con_model_id, null as attack, null as attack_side
    from staging.stg_debates
    union all
    select run_tag, debate_id, topic_id, pro_model_id, con_model_id, attack, attack_side
    from staging.stg_attacked_debates

),

planned as (

    select run_tag, debate_id, topic_id, pro_model_id, con_model_id, null as attack, null as attack_side
    from staging.stg_schedule
    union all
    select run_tag, debate_id, topic_id, pro_model_id, con_model_id, attack, attack_side
    from staging.stg_attacked_schedule

)

select debates.run_tag, debates.debate_id
from debates

inner join staging.stg_runs as runs
    on debates.run_tag = runs.run_tag
    and runs.source = 'run'

left join planned
    on debates.run_tag = planned.run_tag
    and debates.debate_id = planned.debate_id

where
    planned.debate_id is null
    or planned.topic_id is distinct from debates.topic_id
    or planned.pro_model_id is distinct from debates.pro_model_id
    or planned.con_model_id is distinct from debates.con_model_id
    or planned.attack is distinct from debates.attack
    or planned.attack_side is distinct from debates.attack_side
