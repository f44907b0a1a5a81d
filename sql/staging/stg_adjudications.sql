-- One row per reviewer and debate: the verdict that was recorded as agreed after people had annotated the debate.
select
    run_tag, debate_id, adjudicator_id, winner, justification, scores, ranks, team_scores, is_coherent, adjudicated_at

from raw.adjudications
