-- One row per debate on which people agreed on a verdict after they had annotated it.
select
    run_tag, debate_id, adjudicator_id, winner, justification, scores, ranks, team_scores, adjudicated_at

from raw.adjudications
