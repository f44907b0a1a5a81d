-- One row per judge, format, truth (`gold`, `annotations` or `adjudicated`) and dimension, or `overall` for the whole debate.
with

measured as (

    select
        run_tag, judge_id, method, is_baseline, format, source_run_tag, truth, dimension,
        count(*) as count_debates,
        cast(sum(count_verdicts) as bigint) as count_verdicts,
        cast(sum(cast(cast(count_predictions as double) / count_verdicts as decimal(38, 18))) as double) as completed,
        cast(sum(cast(accuracy as decimal(38, 18))) as double) as accurate,
        count(accuracy) as count_predicted,
        cast(sum(cast(hit_rate as decimal(38, 18))) as double) as hits,
        count(hit_rate) as count_judged,
        prediction_quality(
            list(source_debate_id),
            list(true_winner),
            list(pro_rate),
            list(tie_rate),
            list(con_rate),
            list(score_comparison_error),
            list(direct_prediction_error),
            list(judge_difference),
            list(people_difference)
        ) as quality

    from marts.judge_errors
    group by run_tag, judge_id, method, is_baseline, format, source_run_tag, truth, dimension
    having dimension = 'overall' or sum(count_predictions) > 0

),

spent as (

    select
        verdicts.run_tag, verdicts.judge_id, debates.format,
        cast(sum(verdicts.total_tokens) as double) / count(verdicts.total_tokens) as tokens_per_judgment,
        cast(sum(verdicts.cost_usd) as double) / count(verdicts.cost_usd) as cost_per_judgment_usd

    from staging.stg_verdicts as verdicts
    inner join staging.stg_debates as debates using (run_tag, debate_id)
    group by verdicts.run_tag, verdicts.judge_id, debates.format

),

final as (

    select
        run_tag, judge_id, method, is_baseline, format, source_run_tag, truth, dimension, count_debates,
        count_verdicts,
        completed / count_debates as completion_rate,
        macros.wilson_low(completed, count_debates) as completion_rate_ci_low,
        macros.wilson_high(completed, count_debates) as completion_rate_ci_high,
        accurate / nullif(count_predicted, 0) as accuracy,
        macros.wilson_low(accurate, count_predicted) as accuracy_ci_low,
        macros.wilson_high(accurate, count_predicted) as accuracy_ci_high,
        hits / nullif(count_judged, 0) as hit_rate,
        macros.wilson_low(hits, count_judged) as hit_rate_ci_low,
        macros.wilson_high(hits, count_judged) as hit_rate_ci_high,
        100 * quality.rmse_score_comparison.value as rmse_score_comparison,
        100 * quality.rmse_score_comparison.ci_low as rmse_score_comparison_ci_low,
        100 * quality.rmse_score_comparison.ci_high as rmse_score_comparison_ci_high,
        100 * quality.rmse_direct_prediction.value as rmse_direct_prediction,
        100 * quality.rmse_direct_prediction.ci_low as rmse_direct_prediction_ci_low,
        100 * quality.rmse_direct_prediction.ci_high as rmse_direct_prediction_ci_high,
        quality.kappa.value as kappa,
        quality.kappa.ci_low as kappa_ci_low,
        quality.kappa.ci_high as kappa_ci_high,
        quality.weighted_f1.value as weighted_f1,
        quality.weighted_f1.ci_low as weighted_f1_ci_low,
        quality.weighted_f1.ci_high as weighted_f1_ci_high,
        quality.spearman.value as spearman,
        quality.spearman.ci_low as spearman_ci_low,
        quality.spearman.ci_high as spearman_ci_high,
        quality.kendall_tau_b.value as kendall_tau_b,
        quality.kendall_tau_b.ci_low as kendall_tau_b_ci_low,
        quality.kendall_tau_b.ci_high as kendall_tau_b_ci_high,
        spent.tokens_per_judgment, spent.cost_per_judgment_usd

    from measured
    left join spent using (run_tag, judge_id, format)

)

select * from final
