-- One row per judge of a run's pool.
with

asks as (

    select
        run_tag, judge_id,
        cast(sum(asks) as bigint) as count_asks

    from staging.stg_verdicts
    group by run_tag, judge_id

),

totals as (

    select
        run_tag, judge_id,
        count(case when purpose = 'verdict' then 1 end) as count_verdicts,
        cast(sum(case when purpose = 'verdict' then prompt_tokens end) as bigint) as prompt_tokens,
        cast(sum(case when purpose = 'verdict' then completion_tokens end) as bigint) as completion_tokens,
        cast(sum(case when purpose = 'verdict' then total_tokens end) as bigint) as total_tokens,
        count(case when purpose = 'verdict' and total_tokens is null then 1 end) as count_unmetered_verdicts,
        sum(case when purpose = 'verdict' then cost_usd end) as cost_usd,
        sum(case when purpose = 'verdict' and cost_source = 'estimated' then cost_usd end) as estimated_cost_usd,
        count(case when purpose = 'verdict' and is_unpriced then 1 end) as count_unpriced_verdicts,
        count(case when purpose = 'unused' then 1 end) as count_unused_calls,
        sum(case when purpose = 'unused' then cost_usd end) as unused_cost_usd,
        count(case when purpose = 'unused' and is_unpriced then 1 end) as count_unpriced_calls

    from intermediate.int_expenses
    where judge_id is not null
    group by run_tag, judge_id

),

final as (

    select
        judges.run_tag, judges.judge_id,
        coalesce(totals.count_verdicts, 0) as count_verdicts,
        coalesce(asks.count_asks, 0) as count_asks,
        totals.prompt_tokens,
        totals.completion_tokens,
        totals.total_tokens,
        coalesce(totals.count_unmetered_verdicts, 0) as count_unmetered_verdicts,
        totals.cost_usd,
        totals.estimated_cost_usd,
        coalesce(totals.count_unpriced_verdicts, 0) as count_unpriced_verdicts,
        coalesce(totals.count_unused_calls, 0) as count_unused_calls,
        totals.unused_cost_usd,
        coalesce(totals.count_unpriced_calls, 0) as count_unpriced_calls

    from staging.stg_judges as judges
    left join asks using (run_tag, judge_id)
    left join totals using (run_tag, judge_id)

)

select * from final
