-- One row per judge or annotator, weakness type (or `all`) and measure (`winner`, `score` or `dimension`).
with

rates as materialized (

    select * from intermediate.int_weakness_rates as weakness_rates

),

pairs as (

    select
        weakened.*,
        controls.count_debates as count_controls,
        controls.rate as control_rate,
        controls.tie_rate as control_tie_rate,
        controls.rate_ci_low as control_rate_ci_low,
        controls.rate_ci_high as control_rate_ci_high,
        controls.compared_ci_low as control_ci_low,
        controls.compared_ci_high as control_ci_high,
        controls.count_clusters as count_control_clusters

    from rates as weakened

    left join rates as controls
        on weakened.run_tag = controls.run_tag
        and weakened.judge_id = controls.judge_id
        and weakened.is_person = controls.is_person
        and weakened.weakness_type = controls.weakness_type
        and weakened.measure = controls.measure
        and controls.is_control

    where not weakened.is_control

),

-- Values and products are rounded before they are added, so that no sum depends on the order of rows.
deviations as (

    select
        cases.run_tag, cases.judge_id, cases.is_person, cases.weakness_type, cases.measure,
        sum(cast(case when cases.is_control then 0 else lower_rate - pairs.rate end as decimal(38, 18))) as deviation,
        sum(cast(case when cases.is_control then lower_rate - pairs.control_rate else 0 end as decimal(38, 18)))
            as control_deviation

    from intermediate.int_weakness_cases as cases
    inner join pairs using (run_tag, judge_id, is_person, weakness_type, measure)
    group by cases.run_tag, cases.judge_id, cases.is_person, cases.weakness_type, cases.measure, cluster_id

),

-- The debates of one topic are among the weakened ones and among the controls, so the two rates vary together. Over all
-- clusters, deviations add up to 0.
correlations as (

    select
        run_tag, judge_id, is_person, weakness_type, measure,
        coalesce(
            macros.measure_from_sums(
                'correlation',
                count(*), 0, 0,
                cast(sum(cast(pow(deviation, 2) as decimal(38, 15))) as double),
                cast(sum(cast(cast(deviation as double) * control_deviation as decimal(38, 15))) as double),
                cast(sum(cast(pow(control_deviation, 2) as decimal(38, 15))) as double)
            ),
            0
        ) as correlation

    from deviations
    group by run_tag, judge_id, is_person, weakness_type, measure

),

compared as (

    select
        pairs.*,
        pairs.rate - pairs.control_rate as difference,
        rate - control_rate
        - macros.difference_reach(rate - compared_ci_low, control_ci_high - control_rate, correlation) as difference_ci_low,
        rate - control_rate
        + macros.difference_reach(compared_ci_high - rate, control_rate - control_ci_low, correlation) as difference_ci_high

    from pairs
    inner join correlations using (run_tag, judge_id, is_person, weakness_type, measure)

),

powered as (

    select
        *,
        macros.detectable_difference(difference_ci_low, difference_ci_high) as detectable_difference,
        macros.reason_of(
            control_rate_ci_low is null, count_controls, control_rate, count_control_clusters, cluster_unit
        ) as control_rate_reason,
        macros.reason_of(
            difference_ci_low is null, count_controls, difference, least(count_clusters, count_control_clusters),
            cluster_unit
        ) as difference_reason

    from compared

),

final as (

    select
        powered.run_tag, powered.judge_id, powered.is_person, powered.method, powered.is_baseline,
        powered.source_run_tag, powered.weakness_type, powered.measure, powered.weak_dimension, powered.count_debates,
        powered.count_preferences,
        powered.rate as detection_rate,
        powered.rate_ci_low as detection_rate_ci_low,
        powered.rate_ci_high as detection_rate_ci_high,
        powered.rate_reason as detection_rate_reason,
        powered.tie_rate,
        coalesce(powered.count_controls, 0) as count_controls,
        powered.control_rate, powered.control_rate_ci_low, powered.control_rate_ci_high, powered.control_rate_reason,
        powered.control_tie_rate, powered.difference, powered.difference_ci_low, powered.difference_ci_high,
        powered.difference_reason, powered.count_clusters, powered.cluster_unit, powered.detectable_difference,
        cast(ceil(round(powered.count_debates * pow(powered.detectable_difference / 0.1, 2), 6)) as bigint)
            as count_debates_needed,
        people.count_debates as count_people_debates,
        people.accuracy as people_accuracy,
        people.accuracy_ci_low as people_accuracy_ci_low,
        people.accuracy_ci_high as people_accuracy_ci_high,
        case when people.run_tag is null then 'no_cases' else people.accuracy_reason end as people_accuracy_reason,
        people.spearman as people_spearman,
        people.spearman_ci_low as people_spearman_ci_low,
        people.spearman_ci_high as people_spearman_ci_high,
        case when people.run_tag is null then 'no_cases' else people.spearman_reason end as people_spearman_reason,
        people.kendall_tau_b as people_kendall_tau_b,
        people.kendall_tau_b_ci_low as people_kendall_tau_b_ci_low,
        people.kendall_tau_b_ci_high as people_kendall_tau_b_ci_high,
        case when people.run_tag is null then 'no_cases' else people.kendall_tau_b_reason end as people_kendall_tau_b_reason

    from powered

    left join marts.judge_quality as people
        on powered.run_tag = people.run_tag
        and powered.judge_id = people.judge_id
        and not powered.is_person
        and people.truth = 'annotations'
        and people.format = 'two_sided'
        and people.dimension = case powered.measure when 'dimension' then powered.weak_dimension else 'overall' end

)

select * from final
