-- One row per judge of a run's pool: its verdicts, and the attempts at verdicts whose answer was not used.
with

verdicts as (

    select run_tag, judge_id, count_asks from staging.stg_verdicts
    union all
    select run_tag, judge_id, count_asks from staging.stg_attacked_verdicts

),

asks as (

    select
        run_tag, judge_id,
        cast(sum(count_asks) as bigint) as count_asks

    from verdicts
    group by run_tag, judge_id

),

final as (

    select
        costs.run_tag,
        costs.subject as judge_id,
        costs.count_verdicts,
        coalesce(asks.count_asks, 0) as count_asks,
        costs.count_unused_calls,
        costs.cost_usd,
        costs.verdict_cost_usd,
        costs.unused_cost_usd,
        costs.estimated_cost_usd,
        costs.possible_cost_usd,
        costs.count_unpriced,
        costs.count_unpriced_verdicts,
        costs.count_unpriced_calls,
        costs.total_tokens,
        costs.verdict_tokens,
        costs.unused_tokens,
        costs.prompt_tokens,
        costs.completion_tokens,
        costs.count_unmetered

    from intermediate.int_costs as costs
    left join asks on costs.run_tag = asks.run_tag and costs.subject = asks.judge_id
    where costs.kind = 'judge'

)

select * from final
order by run_tag, judge_id
