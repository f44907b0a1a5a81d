-- One row per attempt at a call.
select
    run_tag, call_id, attempt, debate_id, step, purpose, model_id, judge_id, provider, model_name, status,
    error, http_status, sent_at, duration_ms, prompt_tokens, completion_tokens,
    coalesce(total_tokens, prompt_tokens + completion_tokens) as total_tokens,
    cached_tokens, cache_write_tokens, reasoning_tokens, service_tier,
    cost as cost_usd,
    cost_source, unpriced_reason,
    possible_cost as possible_cost_usd,
    finish_reason, served_model, serving_provider, generation_id, request_sha256, adjusted

from raw.calls
