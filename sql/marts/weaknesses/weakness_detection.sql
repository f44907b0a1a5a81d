-- One row per judge or annotator, weakness type (or `all`) and measure (`winner`, `score` or `dimension`).
with

rates as materialized (

    select * from marts.weakness_rates

),

compared as (

    select
        weakened.*,
        controls.count_debates as count_controls,
        controls.rate as control_rate,
        controls.tie_rate as control_tie_rate,
        weakened.rate - controls.rate as difference,
        macros.difference_low(
            weakened.rate, weakened.clustered_ci_low, controls.rate, controls.clustered_ci_high
        ) as difference_ci_low,
        macros.difference_high(
            weakened.rate, weakened.clustered_ci_high, controls.rate, controls.clustered_ci_low
        ) as difference_ci_high

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

powered as (

    select
        *,
        macros.detectable_difference(
            difference_ci_low,
            difference_ci_high,
            macros.error_of_interval(difference_ci_low, difference_ci_high)
        ) as detectable_difference

    from compared

),

final as (

    select
        powered.run_tag, powered.judge_id, powered.is_person, powered.method, powered.is_baseline,
        powered.source_run_tag, powered.weakness_type, powered.measure, powered.weak_dimension, powered.count_debates,
        powered.count_verdicts,
        powered.rate as detection_rate,
        macros.wilson_low(powered.rate * powered.count_debates, powered.count_debates) as detection_rate_ci_low,
        macros.wilson_high(powered.rate * powered.count_debates, powered.count_debates) as detection_rate_ci_high,
        powered.tie_rate,
        coalesce(powered.count_controls, 0) as count_controls,
        powered.control_rate,
        macros.wilson_low(powered.control_rate * powered.count_controls, powered.count_controls)
            as control_rate_ci_low,
        macros.wilson_high(powered.control_rate * powered.count_controls, powered.count_controls)
            as control_rate_ci_high,
        powered.control_tie_rate, powered.difference, powered.difference_ci_low, powered.difference_ci_high,
        powered.count_clusters, powered.detectable_difference,
        cast(ceil(round(powered.count_debates * pow(powered.detectable_difference / 0.1, 2), 6)) as bigint)
            as count_debates_needed,
        people.count_debates as count_people_debates,
        people.accuracy as people_accuracy,
        people.accuracy_ci_low as people_accuracy_ci_low,
        people.accuracy_ci_high as people_accuracy_ci_high,
        people.spearman as people_spearman,
        people.spearman_ci_low as people_spearman_ci_low,
        people.spearman_ci_high as people_spearman_ci_high,
        people.kendall_tau_b as people_kendall_tau_b,
        people.kendall_tau_b_ci_low as people_kendall_tau_b_ci_low,
        people.kendall_tau_b_ci_high as people_kendall_tau_b_ci_high

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
