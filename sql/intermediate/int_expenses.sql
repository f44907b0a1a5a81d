-- One row per turn, per verdict, and per attempt whose answer became neither: everything that used tokens or money.
with

verdicts as (

    select * from staging.stg_verdicts
    union all
    select * from staging.stg_attacked_verdicts

),

turn_expenses as (

    select
        run_tag, debate_id,
        'turn' as purpose,
        cast(turn_index as varchar) as item,
        model_id,
        cast(null as varchar) as judge_id,
        prompt_tokens,
        completion_tokens,
        total_tokens,
        cost_usd,
        cost_source,
        cast(null as decimal(18, 10)) as possible_cost_usd,
        cost_usd is null as is_unpriced

    from staging.stg_turns

),

verdict_expenses as (

    select
        run_tag, debate_id,
        'verdict' as purpose,
        judge_id as item,
        cast(null as varchar) as model_id,
        judge_id,
        prompt_tokens,
        completion_tokens,
        total_tokens,
        cost_usd,
        cost_source,
        cast(null as decimal(18, 10)) as possible_cost_usd,
        cost_usd is null as is_unpriced

    from verdicts

),

-- A turn has the cost of its answer, and a verdict the cost of all requests to its judge. Other attempts led to
-- neither: failed attempts, and answers in debates that ended early or are still running.
unused_calls as (

    select *
    from staging.stg_calls as calls

    where
        status <> 'answered'
        or not (
            exists (
                select 1
                from staging.stg_turns as turns
                where
                    turns.run_tag = calls.run_tag
                    and turns.call_id = calls.call_id
            )
            or exists (
                select 1
                from verdicts
                where
                    verdicts.run_tag = calls.run_tag
                    and verdicts.debate_id = calls.debate_id
                    and verdicts.judge_id = calls.judge_id
            )
        )

),

unused_expenses as (

    select
        run_tag, debate_id,
        'unused' as purpose,
        concat(call_id, ':', attempt) as item,
        model_id,
        judge_id,
        prompt_tokens,
        completion_tokens,
        total_tokens,
        cost_usd,
        cost_source,
        possible_cost_usd,
        -- If the provider rejected or did not receive the request, nothing was billed.
        cost_usd is null
        and (
            status in ('answered', 'empty', 'refused', 'oversize', 'ambiguous')
            or possible_cost_usd is not null
        ) as is_unpriced

    from unused_calls

),

final as (

    select * from turn_expenses
    union all
    select * from verdict_expenses
    union all
    select * from unused_expenses

)

select * from final
