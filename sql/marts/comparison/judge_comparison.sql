-- One row per pair of subjects, judge and measure: agreement with the rest of the panel, lean to a side, leniency.
select
    baseline_kind, baseline, candidate_kind, candidate,
    member_id as judge_id,
    measure, method, baseline_value, candidate_value, difference, ci_low, ci_high, p_value, reason, standard_error,
    degrees_of_freedom, detectable_difference, count_baseline_debates, count_candidate_debates, count_pairs,
    count_topics

from intermediate.int_comparison_differences as comparison_differences
where role = 'judge'
