-- One row per judge, format and dimension with gold verdicts on the dimension.
select
    quality.run_tag, quality.judge_id, quality.method, quality.is_baseline, quality.source_run_tag, quality.format,
    quality.dimension, quality.count_debates,
    quality.rmse_score_comparison, quality.rmse_score_comparison_ci_low, quality.rmse_score_comparison_ci_high,
    quality.rmse_score_comparison_reason,
    quality.rmse_direct_prediction, quality.rmse_direct_prediction_ci_low, quality.rmse_direct_prediction_ci_high,
    quality.rmse_direct_prediction_reason,
    gold.rmse_to_overall, gold.rmse_to_overall_ci_low, gold.rmse_to_overall_ci_high, gold.rmse_to_overall_reason

from marts.judge_quality as quality

left join marts.gold_dimensions as gold
    on quality.source_run_tag = gold.run_tag
    and quality.format = gold.format
    and quality.dimension = gold.dimension

where quality.truth = 'gold' and quality.dimension <> 'overall'
order by quality.source_run_tag, quality.format, quality.run_tag, quality.judge_id, quality.dimension
