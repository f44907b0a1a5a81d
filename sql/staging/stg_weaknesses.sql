-- One row per side into which a weakness was injected.
with

source as (

    select * from raw.weaknesses

),

final as (

    select
        run_tag,
        debate_id,
        side,
        weakness_type,
        metadata

    from source

)

select * from final
