-- Debates of a run that its plan does not hold, or holds with another topic or other sides.
with

debates as (

    select * from staging.stg_debates

),

runs as (

    select * from staging.stg_runs

),

schedule as (

    select * from staging.stg_schedule

),

final as (

    select
        debates.run_tag,
        debates.debate_id

    from debates

    inner join runs
        on debates.run_tag = runs.run_tag
        and runs.source = 'run'

    left join schedule
        on debates.run_tag = schedule.run_tag
        and debates.debate_id = schedule.debate_id

    where
        schedule.debate_id is null
        or schedule.topic_id <> debates.topic_id
        or schedule.pro_model_id <> debates.pro_model_id
        or schedule.con_model_id <> debates.con_model_id

)

select * from final
