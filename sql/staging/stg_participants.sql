-- One row per debate and speaking position.
select run_tag, debate_id, position, model_id, side from raw.participants
