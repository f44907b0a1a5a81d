-- One row per annotator and debate.
with

source as (

    select * from raw.annotations

),

final as (

    select
        run_tag,
        debate_id,
        annotator_id,
        winner,
        justification,
        scores,
        annotated_at,
        source,
        metadata

    from source

)

select * from final
