-- One row per run, role and stage: all attempts at the turns of a stage, or at the verdicts.
select
    costs.run_tag,
    case costs.kind when 'panel' then 'judge' else 'debater' end as role,
    case costs.kind when 'panel' then 'verdict' else costs.subject end as stage,
    costs.count_turns, costs.count_verdicts, costs.count_unused_calls,
    costs.cost_usd, costs.unused_cost_usd, costs.estimated_cost_usd, costs.repriced_cost_usd,
    costs.possible_cost_usd, costs.count_unpriced,
    costs.total_tokens, costs.unused_tokens, costs.prompt_tokens, costs.completion_tokens,
    costs.cached_tokens, costs.reasoning_tokens, costs.count_unmetered,
    coalesce(spreads.count_priced_debates, 0) as count_priced_debates,
    spreads.median_debate_cost_usd, spreads.p90_debate_cost_usd

from intermediate.int_costs as costs
left join intermediate.int_cost_spreads as spreads using (kind, run_tag, subject)
where costs.kind in ('stage', 'panel')
order by costs.run_tag, role, stage
