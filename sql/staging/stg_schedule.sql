-- One row per debate that a run planned, without attacked copies of stored debates.
select
    run_tag, debate_id, schedule_position, topic_id, pro_model_id, con_model_id, repetition, debate_seed,
    panel, con_first, source_debate_id, trial, weakness_type, weakness_side, teams

from raw.schedule
where attack is null
