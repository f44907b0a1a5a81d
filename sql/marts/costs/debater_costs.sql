-- One row per debater of a run: its turns, and the attempts at turns whose answer was not used.
select
    run_tag,
    subject as model_id,
    count_turns, count_unused_calls,
    cost_usd, turn_cost_usd, unused_cost_usd, estimated_cost_usd, possible_cost_usd,
    count_unpriced, count_unpriced_turns, count_unpriced_calls,
    total_tokens, turn_tokens, unused_tokens, prompt_tokens, completion_tokens, count_unmetered

from intermediate.int_costs
where kind = 'debater'
order by run_tag, model_id
