-- One row per judge of a run's pool.
select
    run_tag, judge_id, provider, model_name, is_simulated, prompt_style, token_limit, thinking_tokens, parameters,
    try_cast(pricing ->> '$.prompt' as decimal(18, 12)) as prompt_price_usd,
    try_cast(pricing ->> '$.completion' as decimal(18, 12)) as completion_price_usd

from raw.judges
