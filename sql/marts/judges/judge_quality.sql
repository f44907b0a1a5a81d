-- One row per judge, format, truth (`gold`, `annotations` or `adjudicated`) and dimension, or `overall` for the whole debate.
with

measured as (

    select
        run_tag, judge_id, method, is_baseline, format, source_run_tag, truth, dimension, cluster_unit,
        count(*) as count_debates,
        cast(sum(count_verdicts) as bigint) as count_verdicts,
        count(distinct cluster_id) as count_clusters,
        count(score_comparison_error) as count_compared,
        count(direct_prediction_error) as count_named,
        count(case when true_winner is not null then pro_rate end) as count_sides,
        count(case when people_difference is not null then judge_difference end) as count_differences,
        prediction_quality(
            list(cluster_id),
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
    group by run_tag, judge_id, method, is_baseline, format, source_run_tag, truth, dimension, cluster_unit
    having dimension = 'overall' or sum(count_predictions) > 0

),

spent as (

    select
        run_tag, costs.judge_id, debates.format,
        cast(sum(costs.total_tokens) as double) / count(costs.total_tokens) as tokens_per_judgment,
        cast(sum(costs.cost_usd) as double) / count(costs.cost_usd) as cost_per_judgment_usd

    from intermediate.int_truth_costs as costs
    inner join staging.stg_debates as debates using (run_tag, debate_id)
    inner join staging.stg_verdicts as verdicts using (run_tag, debate_id, judge_id)
    group by run_tag, costs.judge_id, debates.format

),

rates as (

    select
        run_tag, judge_id, format, truth, dimension,
        map(list(rate), list({'value': value, 'ci_low': ci_low, 'ci_high': ci_high, 'reason': reason})) as rates

    from intermediate.int_judge_quality_rates as judge_quality_rates
    group by run_tag, judge_id, format, truth, dimension

),

measures as (

    select
        * exclude (quality),
        quality.rmse_score_comparison as scores,
        quality.rmse_direct_prediction as words,
        quality.kappa as kappa,
        quality.weighted_f1 as f1,
        quality.spearman as rho,
        quality.kendall_tau_b as tau

    from measured

),

final as (

    select
        run_tag, judge_id, measures.method, measures.is_baseline, format, measures.source_run_tag, truth, dimension,
        measures.count_debates, measures.count_verdicts, measures.count_clusters, measures.cluster_unit,
        rates['completion'].value as completion_rate,
        rates['completion'].ci_low as completion_rate_ci_low,
        rates['completion'].ci_high as completion_rate_ci_high,
        rates['completion'].reason as completion_rate_reason,
        rates['accuracy'].value as accuracy,
        rates['accuracy'].ci_low as accuracy_ci_low,
        rates['accuracy'].ci_high as accuracy_ci_high,
        rates['accuracy'].reason as accuracy_reason,
        rates['hit'].value as hit_rate,
        rates['hit'].ci_low as hit_rate_ci_low,
        rates['hit'].ci_high as hit_rate_ci_high,
        rates['hit'].reason as hit_rate_reason,
        100 * scores.value as rmse_score_comparison,
        100 * scores.ci_low as rmse_score_comparison_ci_low,
        100 * scores.ci_high as rmse_score_comparison_ci_high,
        macros.reason_of(scores.ci_low is null, count_compared, scores.value, scores.clusters, cluster_unit) as rmse_score_comparison_reason,
        100 * words.value as rmse_direct_prediction,
        100 * words.ci_low as rmse_direct_prediction_ci_low,
        100 * words.ci_high as rmse_direct_prediction_ci_high,
        macros.reason_of(words.ci_low is null, count_named, words.value, words.clusters, cluster_unit) as rmse_direct_prediction_reason,
        kappa.value as kappa,
        kappa.ci_low as kappa_ci_low,
        kappa.ci_high as kappa_ci_high,
        macros.reason_of(kappa.ci_low is null, count_sides, kappa.value, kappa.clusters, cluster_unit) as kappa_reason,
        f1.value as weighted_f1,
        f1.ci_low as weighted_f1_ci_low,
        f1.ci_high as weighted_f1_ci_high,
        macros.reason_of(f1.ci_low is null, count_sides, f1.value, f1.clusters, cluster_unit) as weighted_f1_reason,
        rho.value as spearman,
        rho.ci_low as spearman_ci_low,
        rho.ci_high as spearman_ci_high,
        macros.reason_of(rho.ci_low is null, count_differences, rho.value, rho.clusters, cluster_unit) as spearman_reason,
        tau.value as kendall_tau_b,
        tau.ci_low as kendall_tau_b_ci_low,
        tau.ci_high as kendall_tau_b_ci_high,
        macros.reason_of(tau.ci_low is null, count_differences, tau.value, tau.clusters, cluster_unit) as kendall_tau_b_reason,
        spent.tokens_per_judgment, spent.cost_per_judgment_usd

    from measures
    left join rates using (run_tag, judge_id, format, truth, dimension)
    left join spent using (run_tag, judge_id, format)

)

select * from final
