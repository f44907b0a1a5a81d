-- One row per pair of subjects and debate that both have: the same stored debate, or the same topic, sides and repetition.
with

-- Judgments of one stored debate are matched by it, the trials by their number. One join with `or` would compare every
-- debate with every other.
same_source as (

    select
        pairs.baseline_kind, pairs.baseline, pairs.candidate_kind, pairs.candidate,
        baseline_debates.topic_id, baseline_debates.motion, baseline_debates.pro_model_id,
        baseline_debates.con_model_id, baseline_debates.repetition,
        baseline_debates.run_tag as baseline_run_tag,
        baseline_debates.debate_id as baseline_debate_id,
        candidate_debates.run_tag as candidate_run_tag,
        candidate_debates.debate_id as candidate_debate_id

    from intermediate.int_comparison_pairs as pairs

    inner join intermediate.int_comparison_debates as baseline_debates
        on pairs.baseline_kind = baseline_debates.kind
        and pairs.baseline = baseline_debates.subject

    inner join intermediate.int_comparison_debates as candidate_debates
        on pairs.candidate_kind = candidate_debates.kind
        and pairs.candidate = candidate_debates.subject
        and baseline_debates.source_run_tag = candidate_debates.source_run_tag
        and baseline_debates.source_debate_id = candidate_debates.source_debate_id
        and baseline_debates.trial = candidate_debates.trial

),

same_plan as (

    select
        pairs.baseline_kind, pairs.baseline, pairs.candidate_kind, pairs.candidate,
        baseline_debates.topic_id, baseline_debates.motion, baseline_debates.pro_model_id,
        baseline_debates.con_model_id, baseline_debates.repetition,
        baseline_debates.run_tag as baseline_run_tag,
        baseline_debates.debate_id as baseline_debate_id,
        candidate_debates.run_tag as candidate_run_tag,
        candidate_debates.debate_id as candidate_debate_id

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
        and baseline_debates.trial = candidate_debates.trial

    where baseline_debates.source_run_tag <> candidate_debates.source_run_tag

),

matched as (

    select * from same_source
    union all
    select * from same_plan

),

final as (

    select
        matched.baseline_kind, matched.baseline, matched.candidate_kind, matched.candidate, matched.topic_id,
        matched.motion, matched.pro_model_id, matched.con_model_id, matched.repetition,
        matched.baseline_run_tag, matched.baseline_debate_id,
        coalesce(baseline_winners.winner, 'no_decision') as baseline_winner,
        matched.candidate_run_tag, matched.candidate_debate_id,
        coalesce(candidate_winners.winner, 'no_decision') as candidate_winner,
        baseline_winners.winner <> candidate_winners.winner as is_flipped

    from matched

    left join marts.decided_debates as baseline_winners
        on matched.baseline_run_tag = baseline_winners.run_tag
        and matched.baseline_debate_id = baseline_winners.debate_id

    left join marts.decided_debates as candidate_winners
        on matched.candidate_run_tag = candidate_winners.run_tag
        and matched.candidate_debate_id = candidate_winners.debate_id

)

select * from final
