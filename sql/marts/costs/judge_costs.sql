-- One row per judge of a run's pool: all attempts at its verdicts.
select
    costs.run_tag,
    costs.subject as judge_id,
    costs.count_verdicts, costs.count_asks, costs.count_unused_calls,
    costs.cost_usd, costs.verdict_cost_usd, costs.unused_cost_usd, costs.estimated_cost_usd, costs.repriced_cost_usd,
    costs.possible_cost_usd,
    costs.count_unpriced, costs.count_unpriced_verdicts, costs.count_unpriced_calls,
    costs.total_tokens, costs.verdict_tokens, costs.unused_tokens, costs.prompt_tokens, costs.completion_tokens,
    costs.cached_tokens, costs.reasoning_tokens, costs.count_unmetered,
    coalesce(spreads.count_priced_debates, 0) as count_priced_debates,
    spreads.median_debate_cost_usd, spreads.p90_debate_cost_usd

from intermediate.int_costs as costs
left join intermediate.int_cost_spreads as spreads using (kind, run_tag, subject)
where costs.kind = 'judge'
order by costs.run_tag, judge_id
