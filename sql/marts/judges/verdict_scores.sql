-- One row per valid verdict and dimension.
with

verdicts as (

    select * from staging.stg_verdicts

),

scores as (

    select
        run_tag,
        debate_id,
        judge_id,
        unnest(scores) as score

    from verdicts

    where is_valid

),

final as (

    select
        run_tag,
        debate_id,
        judge_id,
        score.dimension as dimension,
        score.pro as pro_score,
        score.con as con_score

    from scores

)

select * from final
