-- One row per ordered pair of subjects that have no run in common.
select
    baseline_members.kind as baseline_kind,
    baseline_members.subject as baseline,
    candidate_members.kind as candidate_kind,
    candidate_members.subject as candidate

from intermediate.int_comparison_members as baseline_members
cross join intermediate.int_comparison_members as candidate_members
group by baseline_members.kind, baseline_members.subject, candidate_members.kind, candidate_members.subject
having count(case when baseline_members.run_tag = candidate_members.run_tag then 1 end) = 0
