-- One row per debate and speaking position.
with

source as (

    select * from raw.participants

),

final as (

    select
        run_tag,
        debate_id,
        position,
        model_id,
        side

    from source

)

select * from final
