-- One row per debate and judged unit: the whole debate (`winner`) or one dimension.
with

gold as (

    select * from staging.stg_gold

),

final as (

    select
        run_tag,
        debate_id,
        unit,
        label,
        winner,
        winning_positions,
        vote_count

    from gold

)

select * from final
