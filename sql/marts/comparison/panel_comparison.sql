-- One row per pair of subjects and measure of their panels: how far judges agree, and which side panels favour.
select
    baseline_kind, baseline, candidate_kind, candidate, measure, method, baseline_value, candidate_value,
    difference, ci_low, ci_high, p_value, reason, standard_error, degrees_of_freedom, detectable_difference,
    count_baseline_debates, count_candidate_debates, count_pairs, count_topics

from intermediate.int_comparison_differences as comparison_differences
where role = 'judge' and member_id = ''
