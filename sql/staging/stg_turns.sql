-- One row per turn.
select
    run_tag, debate_id, turn_index, position, side, model_id, stage, instruction, content, reasoning, created_at,
    duration_ms, prompt_tokens, completion_tokens,
    coalesce(total_tokens, prompt_tokens + completion_tokens) as total_tokens,
    macros.in_dollars(cost, currency) as cost_usd,
    cost_source, currency, finish_reason, is_truncated, serving_provider, generation_id, call_id, metadata

from raw.turns
