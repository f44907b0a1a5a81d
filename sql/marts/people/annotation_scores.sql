-- One row per annotator, debate and dimension.
with

scores as (

    select
        run_tag, debate_id, annotator_id,
        unnest(scores) as score

    from staging.stg_annotations

),

final as (

    select
        run_tag, debate_id, annotator_id,
        score.dimension as dimension,
        score.pro as pro_score,
        score.con as con_score

    from scores

)

select * from final
