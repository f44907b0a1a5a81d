-- One row per debate and judged unit: the whole debate or one dimension.
with

source as (

    select * from raw.gold

),

final as (

    select
        run_tag,
        debate_id,
        unit,
        label,
        winner,
        winning_positions,
        vote_count,
        metadata

    from source

)

select * from final
