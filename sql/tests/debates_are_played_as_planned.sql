-- Debates of a run that are not in its plan, or are planned with a different topic, different debaters or another attack.
with

debates as (

    select run_tag, debate_id, topic_id, pro_model_id, con_model_id, null as attack, null as attack_side
    from staging.stg_debates
    union all
    select run_tag, debate_id, topic_id, pro_model_id, con_model_id, attack, attack_side
    from staging.stg_attacked_debates

),

planned as (

    select run_tag, debate_id, topic_id, pro_model_id, con_model_id, null as attack, null as attack_side, teams
    from staging.stg_schedule
    union all
    select run_tag, debate_id, topic_id, pro_model_id, con_model_id, attack, attack_side, [] as teams
    from staging.stg_attacked_schedule

),

teams as (

    select
        run_tag, debate_id,
        max(case when position = 'OG' then model_id end) as opening_government,
        max(case when position = 'OO' then model_id end) as opening_opposition,
        max(case when position = 'CG' then model_id end) as closing_government,
        max(case when position = 'CO' then model_id end) as closing_opposition

    from staging.stg_participants
    group by run_tag, debate_id

)

select debates.run_tag, debates.debate_id
from debates

inner join staging.stg_runs as runs
    on debates.run_tag = runs.run_tag
    and runs.source = 'run'

left join planned
    on debates.run_tag = planned.run_tag
    and debates.debate_id = planned.debate_id

left join teams
    on debates.run_tag = teams.run_tag
    and debates.debate_id = teams.debate_id

where
    planned.debate_id is null
    or (
        len(planned.teams) > 0
        and [
            teams.opening_government, teams.opening_opposition, teams.closing_government, teams.closing_opposition
        ] is distinct from planned.teams
    )
    or planned.topic_id is distinct from debates.topic_id
    or planned.pro_model_id is distinct from debates.pro_model_id
    or planned.con_model_id is distinct from debates.con_model_id
    or planned.attack is distinct from debates.attack
    or planned.attack_side is distinct from debates.attack_side
