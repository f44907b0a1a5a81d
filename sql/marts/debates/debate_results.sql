-- One row per decided debate and side, seen from the debater on that side.
with

final as (

    select
        debates.run_tag, debates.debate_id, debates.topic_id, sides.side,
        case sides.side when 'pro' then debates.pro_model_id else debates.con_model_id end as model_id,
        case sides.side when 'pro' then debates.con_model_id else debates.pro_model_id end as opponent_id,
        debates.is_rated, debates.is_forfeit, debates.is_weakened,
        case debates.winner when 'tie' then 'tie' when sides.side then 'win' else 'loss' end as result

    from marts.decided_debates as debates
    cross join (values ('pro'), ('con')) as sides (side)
    where case sides.side when 'pro' then debates.pro_model_id else debates.con_model_id end is not null

)

select * from final
