-- One row per debate: its turns, its verdicts, and the attempts on it whose answer became neither.
with

totals as (

    select
        run_tag, debate_id,
        count(case when purpose = 'turn' then 1 end) as count_turns,
        count(case when purpose = 'verdict' then 1 end) as count_verdicts,
        count(case when purpose = 'unused' then 1 end) as count_unused_calls,
        cast(sum(prompt_tokens) as bigint) as prompt_tokens,
        cast(sum(completion_tokens) as bigint) as completion_tokens,
        cast(sum(total_tokens) as bigint) as total_tokens,
        count(case when purpose <> 'unused' and total_tokens is null then 1 end) as count_unmetered,
        sum(case when purpose = 'turn' then cost_usd end) as turn_cost_usd,
        sum(case when purpose = 'verdict' then cost_usd end) as verdict_cost_usd,
        sum(case when purpose = 'unused' then cost_usd end) as unused_cost_usd,
        sum(cost_usd) as cost_usd,
        sum(case when cost_source = 'estimated' then cost_usd end) as estimated_cost_usd,
        count(case when purpose = 'turn' and is_unpriced then 1 end) as count_unpriced_turns,
        count(case when purpose = 'verdict' and is_unpriced then 1 end) as count_unpriced_verdicts,
        count(case when purpose = 'unused' and is_unpriced then 1 end) as count_unpriced_calls

    from intermediate.int_expenses
    group by run_tag, debate_id

),

final as (

    select
        debates.run_tag, debates.debate_id,
        coalesce(totals.count_turns, 0) as count_turns,
        coalesce(totals.count_verdicts, 0) as count_verdicts,
        coalesce(totals.count_unused_calls, 0) as count_unused_calls,
        totals.prompt_tokens,
        totals.completion_tokens,
        totals.total_tokens,
        coalesce(totals.count_unmetered, 0) as count_unmetered,
        totals.turn_cost_usd,
        totals.verdict_cost_usd,
        totals.unused_cost_usd,
        totals.cost_usd,
        totals.estimated_cost_usd,
        coalesce(totals.count_unpriced_turns, 0) as count_unpriced_turns,
        coalesce(totals.count_unpriced_verdicts, 0) as count_unpriced_verdicts,
        coalesce(totals.count_unpriced_calls, 0) as count_unpriced_calls

    from staging.stg_debates as debates
    left join totals using (run_tag, debate_id)

)

select * from final
