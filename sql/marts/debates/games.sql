-- One row per rated debate, numbered in the order in which debates are rated.
with

-- Materialised, because it is read twice: to find the debaters and to number them.
rated_debates as materialized (

    select * from marts.decided_debates where is_rated

),

debaters as (

    select
        run_tag,
        pro_model_id as model_id

    from rated_debates

    union

    select
        run_tag,
        con_model_id as model_id

    from rated_debates

),

-- Rating functions identify debaters by numbers from 1.
codes as (

    select
        debaters.run_tag, debaters.model_id,
        cast(row_number() over (partition by debaters.run_tag order by debaters.model_id) as integer) as code,
        coalesce(configured.is_simulated, false) as is_simulated

    from debaters
    left join staging.stg_debaters as configured using (run_tag, model_id)

),

simulated_panels as (

    select distinct verdicts.run_tag, verdicts.debate_id
    from staging.stg_verdicts as verdicts
    inner join staging.stg_judges as judges using (run_tag, judge_id)
    where judges.is_simulated and verdicts.is_valid

),

final as (

    select
        rated_debates.run_tag,
        -- Imports have no schedule: they are ordered by time, and by the debate's id if times are equal.
        row_number() over (
            partition by rated_debates.run_tag
            order by
                rated_debates.schedule_position nulls last,
                rated_debates.created_at nulls last,
                rated_debates.debate_id
        ) as game_number,
        rated_debates.debate_id, rated_debates.topic_id, rated_debates.pro_model_id,
        rated_debates.con_model_id,
        pro_codes.code as pro_code,
        con_codes.code as con_code,
        rated_debates.winner,
        cast(case rated_debates.winner when 'pro' then 1 when 'con' then 0 else 0.5 end as double) as pro_score,
        rated_debates.is_forfeit,
        pro_codes.is_simulated or con_codes.is_simulated or simulated_panels.debate_id is not null as is_simulated

    from rated_debates

    inner join codes as pro_codes
        on rated_debates.run_tag = pro_codes.run_tag
        and rated_debates.pro_model_id = pro_codes.model_id

    inner join codes as con_codes
        on rated_debates.run_tag = con_codes.run_tag
        and rated_debates.con_model_id = con_codes.model_id

    left join simulated_panels
        on rated_debates.run_tag = simulated_panels.run_tag
        and rated_debates.debate_id = simulated_panels.debate_id

)

select * from final
