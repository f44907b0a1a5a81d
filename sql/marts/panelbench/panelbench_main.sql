-- One row per judge and format of the debates, over debates with gold verdicts.
with

judged as (

    select quality.*, judges.model_name
    from marts.judge_quality as quality
    inner join staging.stg_judges as judges using (run_tag, judge_id)
    where quality.truth = 'gold' and quality.dimension = 'overall'

),

direct as (

    select
        source_run_tag, format, model_name,
        avg(tokens_per_judgment) as tokens_per_judgment

    from judged
    where method = 'direct' and not is_baseline
    group by source_run_tag, format, model_name

),

final as (

    select
        judged.run_tag, judged.judge_id, judged.method, judged.is_baseline, judged.model_name, judged.source_run_tag,
        judged.format, judged.count_debates, judged.count_verdicts,
        judged.rmse_score_comparison, judged.rmse_score_comparison_ci_low, judged.rmse_score_comparison_ci_high,
        judged.rmse_score_comparison_reason,
        judged.rmse_direct_prediction, judged.rmse_direct_prediction_ci_low, judged.rmse_direct_prediction_ci_high,
        judged.rmse_direct_prediction_reason,
        judged.completion_rate, judged.completion_rate_ci_low, judged.completion_rate_ci_high, judged.completion_rate_reason,
        judged.accuracy, judged.accuracy_ci_low, judged.accuracy_ci_high, judged.accuracy_reason,
        judged.hit_rate, judged.hit_rate_ci_low, judged.hit_rate_ci_high, judged.hit_rate_reason,
        judged.tokens_per_judgment, judged.cost_per_judgment_usd,
        judged.tokens_per_judgment / nullif(direct.tokens_per_judgment, 0) as tokens_ratio_to_direct

    from judged

    left join direct
        on judged.source_run_tag = direct.source_run_tag
        and judged.format = direct.format
        and judged.model_name is not distinct from direct.model_name

)

select * from final
order by source_run_tag, format, run_tag, judge_id
