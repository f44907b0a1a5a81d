-- One row per debater of a run.
with

totals as (

    select
        run_tag, model_id,
        count(case when purpose = 'turn' then 1 end) as count_turns,
        cast(sum(case when purpose = 'turn' then prompt_tokens end) as bigint) as prompt_tokens,
        cast(sum(case when purpose = 'turn' then completion_tokens end) as bigint) as completion_tokens,
        cast(sum(case when purpose = 'turn' then total_tokens end) as bigint) as total_tokens,
        count(case when purpose = 'turn' and total_tokens is null then 1 end) as count_unmetered_turns,
        sum(case when purpose = 'turn' then cost_usd end) as cost_usd,
        sum(case when purpose = 'turn' and cost_source = 'estimated' then cost_usd end) as estimated_cost_usd,
        count(case when purpose = 'turn' and is_unpriced then 1 end) as count_unpriced_turns,
        count(case when purpose = 'unused' then 1 end) as count_unused_calls,
        sum(case when purpose = 'unused' then cost_usd end) as unused_cost_usd,
        count(case when purpose = 'unused' and is_unpriced then 1 end) as count_unpriced_calls

    from intermediate.int_expenses
    where model_id is not null
    group by run_tag, model_id

),

final as (

    select
        debaters.run_tag, debaters.model_id,
        coalesce(totals.count_turns, 0) as count_turns,
        totals.prompt_tokens,
        totals.completion_tokens,
        totals.total_tokens,
        coalesce(totals.count_unmetered_turns, 0) as count_unmetered_turns,
        totals.cost_usd,
        totals.estimated_cost_usd,
        coalesce(totals.count_unpriced_turns, 0) as count_unpriced_turns,
        coalesce(totals.count_unused_calls, 0) as count_unused_calls,
        totals.unused_cost_usd,
        coalesce(totals.count_unpriced_calls, 0) as count_unpriced_calls

    from staging.stg_debaters as debaters
    left join totals using (run_tag, model_id)

)

select * from final
