-- One row per judge of a run's pool.
select
    run_tag, judge_id, provider, model_name, is_simulated, macros.judge_method(method) as method, is_baseline,
    prompt_style,
    context_window, token_limit, thinking_tokens, parameters,
    try_cast(pricing ->> '$.prompt' as decimal(26, 18)) as prompt_price_usd,
    try_cast(pricing ->> '$.completion' as decimal(26, 18)) as completion_price_usd

from raw.judges
