-- One row per debate that took place, without attacked copies of stored debates.
select
    run_tag, debate_id, source_position, schedule_position, topic_id, format, pro_model_id, con_model_id,
    repetition, debate_seed, status, status_reason, refused_by, created_at,
    judges_expected as count_expected_judges,
    judges_actual as count_actual_judges,
    panel_latency_ms as panel_duration_ms,
    recorded_winner, source_debate_id, trial, dimension_order, is_control, metadata

from raw.debates
where attack is null
