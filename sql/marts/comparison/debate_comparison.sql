-- One row per pair of subjects and debate that both held: same topic, same sides, same repetition.
select
    pairs.baseline_kind,
    pairs.baseline,
    pairs.candidate_kind,
    pairs.candidate,
    baseline_debates.topic_id,
    baseline_debates.motion,
    baseline_debates.pro_model_id,
    baseline_debates.con_model_id,
    baseline_debates.repetition,
    baseline_debates.run_tag as baseline_run_tag,
    baseline_debates.debate_id as baseline_debate_id,
    coalesce(baseline_winners.winner, 'no_decision') as baseline_winner,
    candidate_debates.run_tag as candidate_run_tag,
    candidate_debates.debate_id as candidate_debate_id,
    coalesce(candidate_winners.winner, 'no_decision') as candidate_winner,
    baseline_winners.winner <> candidate_winners.winner as is_flipped

from intermediate.int_comparison_pairs as pairs

inner join intermediate.int_comparison_debates as baseline_debates
    on pairs.baseline_kind = baseline_debates.kind
    and pairs.baseline = baseline_debates.subject

inner join intermediate.int_comparison_debates as candidate_debates
    on pairs.candidate_kind = candidate_debates.kind
    and pairs.candidate = candidate_debates.subject
    and baseline_debates.topic_id = candidate_debates.topic_id
    and baseline_debates.motion = candidate_debates.motion
    and baseline_debates.pro_model_id = candidate_debates.pro_model_id
    and baseline_debates.con_model_id = candidate_debates.con_model_id
    and baseline_debates.repetition = candidate_debates.repetition

left join marts.decided_debates as baseline_winners
    on baseline_debates.run_tag = baseline_winners.run_tag
    and baseline_debates.debate_id = baseline_winners.debate_id

left join marts.decided_debates as candidate_winners
    on candidate_debates.run_tag = candidate_winners.run_tag
    and candidate_debates.debate_id = candidate_winners.debate_id
