-- One row per annotator and debate.
select
    run_tag, debate_id, annotator_id, winner, justification, scores, ranks, team_scores, confidence, is_coherent, skip_reason,
    annotated_at, source, metadata

from raw.annotations
