-- One row per pair of subjects, side of the comparison and run on that side.
select
    pairs.baseline_kind, pairs.baseline, pairs.candidate_kind, pairs.candidate,
    'baseline' as side,
    members.run_tag

from intermediate.int_comparison_pairs as pairs

inner join intermediate.int_comparison_members as members
    on pairs.baseline_kind = members.kind
    and pairs.baseline = members.subject

union all

select
    pairs.baseline_kind, pairs.baseline, pairs.candidate_kind, pairs.candidate,
    'candidate' as side,
    members.run_tag

from intermediate.int_comparison_pairs as pairs

inner join intermediate.int_comparison_members as members
    on pairs.candidate_kind = members.kind
    and pairs.candidate = members.subject
