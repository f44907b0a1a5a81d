-- One row per judge and attacked copy of a stored debate.
select
    run_tag, debate_id, judge_id, method, is_baseline, winner, is_valid, pro_mean_score, con_mean_score,
    is_injection_suspected, invalid_reason

from intermediate.int_probed_verdicts
where is_attacked
order by run_tag, debate_id, judge_id
