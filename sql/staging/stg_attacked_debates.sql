-- One row per attacked copy of a stored debate that was judged.
select
    run_tag, debate_id, schedule_position, topic_id, format, pro_model_id, con_model_id, debate_seed, status,
    status_reason, created_at,
    judges_expected as count_expected_judges,
    judges_actual as count_actual_judges,
    source_debate_id, trial, attack, attack_side

from raw.debates
where attack is not null
