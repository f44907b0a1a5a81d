-- One row per debate, attacked copies included: all attempts on it.
select
    run_tag,
    subject as debate_id,
    count_turns, count_verdicts, count_unused_calls,
    cost_usd, turn_cost_usd, verdict_cost_usd, unused_cost_usd, estimated_cost_usd, repriced_cost_usd,
    possible_cost_usd,
    count_unpriced, count_unpriced_turns, count_unpriced_verdicts, count_unpriced_calls,
    total_tokens, turn_tokens, verdict_tokens, unused_tokens, prompt_tokens, completion_tokens,
    cached_tokens, reasoning_tokens, count_unmetered

from intermediate.int_costs
where kind = 'debate'
