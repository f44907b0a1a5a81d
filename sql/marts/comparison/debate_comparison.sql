-- One row per pair of subjects and debate that both have: the same stored debate, or the same topic, sides and repetition.
with

debates as materialized (

    select * from intermediate.int_comparison_debates as comparison_debates

),

-- Judgments of one stored debate are matched by it, the trials by their number. One join with `or` would compare every
-- debate with every other.
matched as (

    select
        baseline.kind as baseline_kind,
        baseline.subject as baseline,
        candidate.kind as candidate_kind,
        candidate.subject as candidate,
        baseline.topic_id, baseline.motion, baseline.pro_model_id, baseline.con_model_id, baseline.repetition,
        baseline.run_tag as baseline_run_tag,
        baseline.debate_id as baseline_debate_id,
        baseline.winner as baseline_winner,
        candidate.run_tag as candidate_run_tag,
        candidate.debate_id as candidate_debate_id,
        candidate.winner as candidate_winner

    from debates as baseline
    inner join debates as candidate using (source_run_tag, source_debate_id, trial)
    where baseline.run_tag <> candidate.run_tag

    union all

    select
        baseline.kind as baseline_kind,
        baseline.subject as baseline,
        candidate.kind as candidate_kind,
        candidate.subject as candidate,
        topic_id, motion, pro_model_id, con_model_id, repetition,
        baseline.run_tag as baseline_run_tag,
        baseline.debate_id as baseline_debate_id,
        baseline.winner as baseline_winner,
        candidate.run_tag as candidate_run_tag,
        candidate.debate_id as candidate_debate_id,
        candidate.winner as candidate_winner

    from debates as baseline
    inner join debates as candidate using (topic_id, motion, pro_model_id, con_model_id, repetition, trial)
    where baseline.source_run_tag <> candidate.source_run_tag

),

final as (

    select
        pairs.baseline_kind, pairs.baseline, pairs.candidate_kind, pairs.candidate, matched.topic_id, matched.motion,
        matched.pro_model_id, matched.con_model_id, matched.repetition,
        matched.baseline_run_tag, matched.baseline_debate_id,
        coalesce(matched.baseline_winner, 'no_decision') as baseline_winner,
        matched.candidate_run_tag, matched.candidate_debate_id,
        coalesce(matched.candidate_winner, 'no_decision') as candidate_winner,
        matched.baseline_winner <> matched.candidate_winner as is_flipped

    from matched
    inner join intermediate.int_comparison_pairs as pairs using (baseline_kind, baseline, candidate_kind, candidate)

)

select * from final
