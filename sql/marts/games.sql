-- One row per rated debate, numbered in the order in which ratings see it.
with

decided_debates as (

    select * from marts.decided_debates

),

final as (

    select
        run_tag,
        -- Imports have no schedule: there the time decides, and the debate's id where times are equal.
        row_number() over (
            partition by run_tag
            order by schedule_position nulls last, created_at nulls last, debate_id
        ) as game_number,
        debate_id,
        pro_model_id,
        con_model_id,
        winner,
        cast(case winner when 'pro' then 1 when 'con' then 0 else 0.5 end as double) as pro_score

    from decided_debates

    where is_rated

)

select * from final
