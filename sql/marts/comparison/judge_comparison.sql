-- One row per pair of subjects, judge and measure: agreement with the rest of the panel, lean to a side, leniency.
with

steps as (

    select
        *,
        macros.holm_step(p_value, (baseline_kind, baseline, candidate_kind, candidate, measure)) as step

    from intermediate.int_comparison_differences as comparison_differences
    where role = 'judge' and member_id <> ''

),

final as (

    select
        baseline_kind, baseline, candidate_kind, candidate,
        member_id as judge_id,
        measure, method, baseline_value, candidate_value, difference, ci_low, ci_high, p_value,
        macros.holm_p(p_value, step, (baseline_kind, baseline, candidate_kind, candidate, measure)) as p_value_holm,
        case when difference is not null then coalesce(p_value_holm < 0.05, false) end as is_settled,
        reason, standard_error, degrees_of_freedom, detectable_difference, count_baseline_debates,
        count_candidate_debates, count_pairs, count_topics

    from steps

)

select * from final
