-- One row per judge, attack and stored debate: the mean over the trials of the debate.
select
    run_tag, judge_id, attack, source_debate_id, cluster_id, cluster_unit, attack_kind, method, is_baseline,
    count(change) as count_pairs,
    count(case when change is null then 1 end) as count_invalid,
    count(is_success) as count_at_risk,
    count(case when is_success then 1 end) as count_successes,
    count(case when change = 'towards' then 1 end) as count_towards,
    count(case when change = 'away' then 1 end) as count_away,
    count(score_shift) as count_shifts,
    count(case when is_injection_suspected then 1 end) as count_copied,
    cast(count_towards - count_away as double) / nullif(count_pairs, 0) as net_change,
    cast(count_successes as double) / nullif(count_at_risk, 0) as success_rate,
    cast(sum(cast(score_shift as decimal(38, 12))) as double) / nullif(count_shifts, 0) as score_shift

from marts.robustness_pairs
group by run_tag, judge_id, attack, source_debate_id, cluster_id, cluster_unit, attack_kind, method, is_baseline
order by run_tag, judge_id, attack, source_debate_id
