-- One row per attempt of a run, and per turn and verdict without an attempt: everything that used tokens or money.
with

-- Not materialised, so that a query of few runs or columns reads only those.
verdicts as not materialized (

    select * from staging.stg_verdicts
    union all
    select * from staging.stg_attacked_verdicts

),

stages as (

    select
        run_tag, turn_index,
        -- The turn is `pro opening` or `OG prime minister`.
        regexp_extract(turn, '^[A-Za-z]* (.*)$', 1) as stage

    from intermediate.int_planned_turns

),

calls as (

    select
        *,
        cast(nullif(regexp_extract(step, '^turn:([0-9]+)', 1), '') as bigint) as turn_index

    from staging.stg_calls

),

-- An answer became a turn, or one of those that led to a verdict. Other attempts led to neither: failed attempts, and
-- answers in debates that ended early or are still running.
attempts as (

    select
        calls.run_tag, calls.debate_id,
        case
            when calls.status = 'answered' and turns.call_id is not null then 'turn'
            when calls.status = 'answered' and verdicts.judge_id is not null then 'verdict'
            else 'unused'
        end as purpose,
        concat(calls.call_id, ':', calls.attempt) as item,
        calls.model_id, calls.judge_id, calls.turn_index,
        coalesce(turns.stage, stages.stage) as stage,
        calls.prompt_tokens, calls.completion_tokens, calls.total_tokens, calls.cached_tokens,
        calls.reasoning_tokens, calls.cost_usd, calls.cost_source, calls.possible_cost_usd,
        -- If the provider rejected or did not receive the request, nothing was billed.
        calls.status in ('answered', 'empty', 'refused', 'oversize', 'ambiguous')
        or calls.possible_cost_usd is not null as is_billable

    from calls
    left join stages using (run_tag, turn_index)
    left join staging.stg_turns as turns on calls.run_tag = turns.run_tag and calls.call_id = turns.call_id

    left join verdicts
        on calls.run_tag = verdicts.run_tag
        and calls.debate_id = verdicts.debate_id
        and calls.judge_id = verdicts.judge_id

),

-- Imports have no attempts, and baselines need none.
recorded_turns as (

    select
        turns.run_tag, turns.debate_id,
        'turn' as purpose,
        concat('turn:', turns.turn_index) as item,
        turns.model_id,
        cast(null as varchar) as judge_id,
        turns.turn_index, turns.stage, turns.prompt_tokens, turns.completion_tokens, turns.total_tokens,
        cast(null as bigint) as cached_tokens,
        cast(null as bigint) as reasoning_tokens,
        turns.cost_usd, turns.cost_source,
        cast(null as decimal(26, 18)) as possible_cost_usd,
        true as is_billable

    from staging.stg_turns as turns

    where
        not exists (
            select 1
            from staging.stg_calls as calls
            where calls.run_tag = turns.run_tag and calls.call_id = turns.call_id
        )

),

recorded_verdicts as (

    select
        verdicts.run_tag, verdicts.debate_id,
        'verdict' as purpose,
        concat('verdict:', verdicts.judge_id) as item,
        cast(null as varchar) as model_id,
        verdicts.judge_id,
        cast(null as bigint) as turn_index,
        cast(null as varchar) as stage,
        verdicts.prompt_tokens, verdicts.completion_tokens, verdicts.total_tokens,
        cast(null as bigint) as cached_tokens,
        cast(null as bigint) as reasoning_tokens,
        verdicts.cost_usd, verdicts.cost_source,
        cast(null as decimal(26, 18)) as possible_cost_usd,
        true as is_billable

    from verdicts

    where
        not exists (
            select 1
            from staging.stg_calls as calls
            where
                calls.run_tag = verdicts.run_tag
                and calls.debate_id = verdicts.debate_id
                and calls.judge_id = verdicts.judge_id
        )

),

expenses as (

    select * from attempts
    union all
    select * from recorded_turns
    union all
    select * from recorded_verdicts

),

final as (

    select
        *,
        is_billable and cost_usd is null as is_unpriced,
        is_billable and total_tokens is null as is_unmetered

    from expenses

)

select * from final
