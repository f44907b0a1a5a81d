-- One row per attacked copy of a stored debate that a run planned.
select
    run_tag, debate_id, schedule_position, topic_id, pro_model_id, con_model_id, debate_seed, panel,
    con_first, source_debate_id, trial, attack, attack_side

from raw.schedule
where attack is not null
