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

measures as (

    select
        run_tag, judge_id, format, truth, dimension, measured.cluster_unit,
        unnest(
            [
                {'measure': 'rmse_score_comparison', 'found': quality.rmse_score_comparison, 'n': count_compared, 'least': 0},
                {'measure': 'rmse_direct_prediction', 'found': quality.rmse_direct_prediction, 'n': count_named, 'least': 0},
                {'measure': 'kappa', 'found': {'value': kappas.kappa, 'left_out': kappas.left_out}, 'n': count_sides, 'least': -1},
                {'measure': 'weighted_f1', 'found': quality.weighted_f1, 'n': count_sides, 'least': 0},
                {'measure': 'spearman', 'found': quality.spearman, 'n': count_differences, 'least': -1},
                {'measure': 'kendall_tau_b', 'found': quality.kendall_tau_b, 'n': count_differences, 'least': -1}
            ]
        ) as each

    from measured
    left join intermediate.int_judge_quality_kappas as kappas using (run_tag, judge_id, format, truth, dimension)

),

-- With one cluster left out at a time (the jackknife), because debates on the same topic are not independent.
half_widths as (

    select
        measures.*,
        macros.t_half_width(macros.jackknife_error(each.found.left_out, each.found.value), t_quantiles.t_95) as half_width

    from measures
    left join intermediate.int_t_quantiles as t_quantiles on len(measures.each.found.left_out) - 1 = t_quantiles.df

),

intervals as (

    select
        run_tag, judge_id, format, truth, dimension,
        each.measure as measure,
        each.found.value as value,
        macros.at_least(each.found.value - half_width, each.least) as ci_low,
        macros.at_most(each.found.value + half_width, 1) as ci_high,
        macros.reason_of(half_width is null, each.n, each.found.value, len(each.found.left_out), cluster_unit) as reason

    from half_widths

    union all

    select run_tag, judge_id, format, truth, dimension, rate as measure, value, ci_low, ci_high, reason
    from intermediate.int_judge_quality_rates

),

mapped as (

    select
        run_tag, judge_id, format, truth, dimension,
        map(list(measure), list({'value': value, 'ci_low': ci_low, 'ci_high': ci_high, 'reason': reason})) as found

    from intervals
    group by run_tag, judge_id, format, truth, dimension

),

final as (

    select
        run_tag, judge_id, measured.method, measured.is_baseline, format, measured.source_run_tag, truth, dimension,
        measured.count_debates, measured.count_verdicts, measured.count_clusters, measured.cluster_unit,
        found['completion'].value as completion_rate,
        found['completion'].ci_low as completion_rate_ci_low,
        found['completion'].ci_high as completion_rate_ci_high,
        found['completion'].reason as completion_rate_reason,
        found['accuracy'].value as accuracy,
        found['accuracy'].ci_low as accuracy_ci_low,
        found['accuracy'].ci_high as accuracy_ci_high,
        found['accuracy'].reason as accuracy_reason,
        found['hit'].value as hit_rate,
        found['hit'].ci_low as hit_rate_ci_low,
        found['hit'].ci_high as hit_rate_ci_high,
        found['hit'].reason as hit_rate_reason,
        100 * found['rmse_score_comparison'].value as rmse_score_comparison,
        100 * found['rmse_score_comparison'].ci_low as rmse_score_comparison_ci_low,
        100 * found['rmse_score_comparison'].ci_high as rmse_score_comparison_ci_high,
        found['rmse_score_comparison'].reason as rmse_score_comparison_reason,
        100 * found['rmse_direct_prediction'].value as rmse_direct_prediction,
        100 * found['rmse_direct_prediction'].ci_low as rmse_direct_prediction_ci_low,
        100 * found['rmse_direct_prediction'].ci_high as rmse_direct_prediction_ci_high,
        found['rmse_direct_prediction'].reason as rmse_direct_prediction_reason,
        found['kappa'].value as kappa,
        found['kappa'].ci_low as kappa_ci_low,
        found['kappa'].ci_high as kappa_ci_high,
        found['kappa'].reason as kappa_reason,
        found['weighted_f1'].value as weighted_f1,
        found['weighted_f1'].ci_low as weighted_f1_ci_low,
        found['weighted_f1'].ci_high as weighted_f1_ci_high,
        found['weighted_f1'].reason as weighted_f1_reason,
        found['spearman'].value as spearman,
        found['spearman'].ci_low as spearman_ci_low,
        found['spearman'].ci_high as spearman_ci_high,
        found['spearman'].reason as spearman_reason,
        found['kendall_tau_b'].value as kendall_tau_b,
        found['kendall_tau_b'].ci_low as kendall_tau_b_ci_low,
        found['kendall_tau_b'].ci_high as kendall_tau_b_ci_high,
        found['kendall_tau_b'].reason as kendall_tau_b_reason,
        spent.tokens_per_judgment, spent.cost_per_judgment_usd

    from measured
    inner join mapped using (run_tag, judge_id, format, truth, dimension)
    left join spent using (run_tag, judge_id, format)

)

select * from final
