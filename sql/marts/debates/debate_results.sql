-- One row per decided debate and side, seen from the debater on that side.
with

decided_debates as materialized (

    select * from marts.decided_debates

),

pro_sides as (

    select
        run_tag, debate_id, topic_id,
        'pro' as side,
        pro_model_id as model_id,
        con_model_id as opponent_id,
        is_rated, is_forfeit, is_weakened,
        case winner when 'pro' then 'win' when 'con' then 'loss' else 'tie' end as result

    from decided_debates
    where pro_model_id is not null

),

con_sides as (

    select
        run_tag, debate_id, topic_id,
        'con' as side,
        con_model_id as model_id,
        pro_model_id as opponent_id,
        is_rated, is_forfeit, is_weakened,
        case winner when 'con' then 'win' when 'pro' then 'loss' else 'tie' end as result

    from decided_debates
    where con_model_id is not null

),

final as (

    select * from pro_sides
    union all
    select * from con_sides

)

select * from final
