-- One row per valid verdict and dimension.
with

scores as (

    select
        run_tag, debate_id, judge_id,
        unnest(scores) as score

    from intermediate.int_panel_verdicts
    where is_valid

),

final as (

    select
        run_tag, debate_id, judge_id,
        score.dimension as dimension,
        score.pro as pro_score,
        score.con as con_score

    from scores

)

select * from final
