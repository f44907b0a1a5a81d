-- One row per judge and attacked copy of a stored debate.
select
    run_tag, debate_id, judge_id, panel_position, presented_first, is_valid, invalid_reason, declared_winner,
    scores, raw_response, created_at,
    latency_ms as duration_ms,
    prompt_tokens, completion_tokens,
    coalesce(total_tokens, prompt_tokens + completion_tokens) as total_tokens,
    macros.in_dollars(cost, currency) as cost_usd,
    cost_source, currency,
    asks as count_asks,
    replaces_judge_id, is_repaired, is_truncated_after_verdict, is_injection_suspected, call_id, metadata

from raw.verdicts

where
    exists (
        select 1
        from raw.debates as attacked
        where
            attacked.run_tag = verdicts.run_tag
            and attacked.debate_id = verdicts.debate_id
            and attacked.attack is not null
    )
