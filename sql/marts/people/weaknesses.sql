-- One row per side into which a weakness was injected.
with

weaknesses as (

    select * from staging.stg_weaknesses

),

debates as (

    select * from staging.stg_debates

),

final as (

    select
        weaknesses.run_tag,
        weaknesses.debate_id,
        weaknesses.side,
        weaknesses.weakness_type,
        case weaknesses.side when 'pro' then debates.pro_model_id else debates.con_model_id end as model_id

    from weaknesses

    inner join debates
        on weaknesses.run_tag = debates.run_tag
        and weaknesses.debate_id = debates.debate_id

)

select * from final
