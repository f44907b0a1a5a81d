-- One row per debater of a run.
select
    run_tag, model_id, provider, model_name, is_simulated, token_limit, thinking_tokens, parameters,
    try_cast(pricing ->> '$.prompt' as decimal(26, 18)) as prompt_price_usd,
    try_cast(pricing ->> '$.completion' as decimal(26, 18)) as completion_price_usd

from raw.debaters
