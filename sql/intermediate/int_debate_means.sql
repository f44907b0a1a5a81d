-- One row per complete debate with a scored verdict: the mean score of each side.
with

totals as (

    select
        run_tag, debate_id,
        cast(sum(pro_total) as double) / sum(count_dimensions) as pro_mean_score,
        cast(sum(con_total) as double) / sum(count_dimensions) as con_mean_score,
        cast(sum(count_dimensions) as bigint) as count_scores,
        max(gap_total) as largest_gap

    from intermediate.int_verdict_totals
    where is_valid and count_dimensions > 0
    group by run_tag, debate_id

),

final as (

    select
        run_tag, debate_id, debates.pro_model_id, debates.con_model_id, debates.trial,
        totals.pro_mean_score, totals.con_mean_score, totals.count_scores, totals.largest_gap

    from staging.stg_debates as debates
    inner join totals using (run_tag, debate_id)
    where debates.status = 'complete'

)

select * from final
