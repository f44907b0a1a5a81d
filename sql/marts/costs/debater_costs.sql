-- One row per debater of a run: all attempts at its turns.
select
    costs.run_tag,
    costs.subject as model_id,
    costs.count_turns, costs.count_unused_calls,
    costs.cost_usd, costs.turn_cost_usd, costs.unused_cost_usd, costs.estimated_cost_usd, costs.repriced_cost_usd,
    costs.possible_cost_usd,
    costs.count_unpriced, costs.count_unpriced_turns, costs.count_unpriced_calls,
    costs.total_tokens, costs.turn_tokens, costs.unused_tokens, costs.prompt_tokens, costs.completion_tokens,
    costs.cached_tokens, costs.reasoning_tokens, costs.count_unmetered,
    coalesce(spreads.count_priced_debates, 0) as count_priced_debates,
    spreads.median_debate_cost_usd, spreads.p90_debate_cost_usd

from intermediate.int_costs as costs
left join intermediate.int_cost_spreads as spreads using (kind, run_tag, subject)
where costs.kind = 'debater'
order by costs.run_tag, model_id
