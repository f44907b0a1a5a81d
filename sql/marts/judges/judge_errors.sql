-- One row per judge, judged debate of the source, truth and dimension: the mean over the trials of the debate.
with

verdicts as (

    select
        errors.*,
        clusters.cluster_id, clusters.cluster_unit,
        case when errors.prediction is null then 0 else errors.hit end as judged_hit

    from intermediate.int_trial_errors as errors
    inner join intermediate.int_clusters as clusters using (run_tag, debate_id)

),

-- Decimals, because sums of floats depend on the order of the trials.
final as (

    select
        run_tag, judge_id, method, is_baseline, format, source_run_tag, source_debate_id, cluster_id, cluster_unit,
        truth, dimension, true_winner, true_label, people_difference,
        count(*) as count_verdicts,
        count(prediction) as count_predictions,
        cast(count(case when side = 'pro' then 1 end) as double) / nullif(count(side), 0) as pro_rate,
        cast(count(case when side = 'tie' then 1 end) as double) / nullif(count(side), 0) as tie_rate,
        cast(count(case when side = 'con' then 1 end) as double) / nullif(count(side), 0) as con_rate,
        cast(sum(cast(hit as decimal(38, 18))) as double) / nullif(count(hit), 0) as accuracy,
        cast(sum(cast(judged_hit as decimal(38, 18))) as double) / nullif(count(judged_hit), 0) as hit_rate,
        cast(sum(cast(score_comparison_error as decimal(38, 18))) as double)
        / nullif(count(score_comparison_error), 0) as score_comparison_error,
        cast(sum(cast(direct_prediction_error as decimal(38, 18))) as double)
        / nullif(count(direct_prediction_error), 0) as direct_prediction_error,
        cast(sum(cast(judge_difference as decimal(38, 12))) as double)
        / nullif(count(judge_difference), 0) as judge_difference

    from verdicts
    group by
        run_tag, judge_id, method, is_baseline, format, source_run_tag, source_debate_id, cluster_id, cluster_unit,
        truth, dimension, true_winner, true_label, people_difference

)

select * from final
