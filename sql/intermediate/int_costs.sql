-- One row per run, debate, debater, judge, stage and panel of a run: the tokens and cost of its attempts.
with

-- Named once: DuckDB would expand the view again for each branch.
attempts as (

    select
        run_tag, debate_id, model_id, judge_id, stage, purpose, cost_usd, cost_source, possible_cost_usd, is_unpriced,
        prompt_tokens, completion_tokens, total_tokens, cached_tokens, reasoning_tokens, is_unmetered

    from intermediate.int_expenses

),

debates as (

    select run_tag, debate_id from staging.stg_debates
    union all
    select run_tag, debate_id from staging.stg_attacked_debates

),

verdicts as (

    select run_tag, debate_id, judge_id, count_asks from staging.stg_verdicts
    union all
    select run_tag, debate_id, judge_id, count_asks from staging.stg_attacked_verdicts

),

subjects as (

    select 'run' as kind, run_tag, run_tag as subject from staging.stg_runs
    union all
    select 'debate' as kind, run_tag, debate_id as subject from debates
    union all
    select 'debater' as kind, run_tag, model_id as subject from staging.stg_debaters
    union all
    select 'judge' as kind, run_tag, judge_id as subject from staging.stg_judges
    union all
    select distinct 'stage' as kind, run_tag, stage as subject from attempts where stage is not null
    union all
    select 'panel' as kind, run_tag, run_tag as subject from staging.stg_runs

),

-- The sums of a run read these few rows, and only those of its debates all attempts.
parts as (

    select
        run_tag, model_id, judge_id, stage, purpose, cost_source, is_unpriced, is_unmetered,
        count(*) as n,
        sum(cost_usd) as cost_usd,
        sum(possible_cost_usd) as possible_cost_usd,
        cast(sum(prompt_tokens) as bigint) as prompt_tokens,
        cast(sum(completion_tokens) as bigint) as completion_tokens,
        cast(sum(total_tokens) as bigint) as total_tokens,
        cast(sum(cached_tokens) as bigint) as cached_tokens,
        cast(sum(reasoning_tokens) as bigint) as reasoning_tokens

    from attempts
    group by run_tag, model_id, judge_id, stage, purpose, cost_source, is_unpriced, is_unmetered

),

expenses as (

    select 'run' as kind, run_tag as subject, * from parts
    union all
    select
        'debate' as kind,
        debate_id as subject,
        run_tag, model_id, judge_id, stage, purpose, cost_source, is_unpriced, is_unmetered,
        1 as n,
        cost_usd, possible_cost_usd, prompt_tokens, completion_tokens, total_tokens, cached_tokens, reasoning_tokens

    from attempts

    union all
    select 'debater' as kind, model_id as subject, * from parts where model_id is not null
    union all
    select 'judge' as kind, judge_id as subject, * from parts where judge_id is not null
    union all
    select 'stage' as kind, stage as subject, * from parts where stage is not null
    union all
    select 'panel' as kind, run_tag as subject, * from parts where judge_id is not null

),

-- A judge whose attempts all failed has a verdict, too.
verdicts_of as (

    select 'run' as kind, run_tag as subject, * from verdicts
    union all
    select 'debate' as kind, debate_id as subject, * from verdicts
    union all
    select 'judge' as kind, judge_id as subject, * from verdicts
    union all
    select 'panel' as kind, run_tag as subject, * from verdicts

),

verdict_counts as (

    select
        kind, run_tag, subject,
        count(*) as count_verdicts,
        cast(sum(count_asks) as bigint) as count_asks

    from verdicts_of
    group by kind, run_tag, subject

),

sums as (

    select
        kind, run_tag, subject,
        cast(sum(case when purpose = 'turn' then n end) as bigint) as count_turns,
        cast(sum(case when purpose = 'unused' then n end) as bigint) as count_unused_calls,
        sum(cost_usd) as cost_usd,
        sum(case when purpose = 'turn' then cost_usd end) as turn_cost_usd,
        sum(case when purpose = 'verdict' then cost_usd end) as verdict_cost_usd,
        sum(case when purpose = 'unused' then cost_usd end) as unused_cost_usd,
        sum(case when cost_source = 'estimated' then cost_usd end) as estimated_cost_usd,
        sum(case when cost_source = 'repriced' then cost_usd end) as repriced_cost_usd,
        sum(possible_cost_usd) as possible_cost_usd,
        cast(sum(case when is_unpriced then n end) as bigint) as count_unpriced,
        cast(sum(case when purpose = 'turn' and is_unpriced then n end) as bigint) as count_unpriced_turns,
        cast(sum(case when purpose = 'verdict' and is_unpriced then n end) as bigint) as count_unpriced_verdicts,
        cast(sum(case when purpose = 'unused' and is_unpriced then n end) as bigint) as count_unpriced_calls,
        cast(sum(total_tokens) as bigint) as total_tokens,
        cast(sum(case when purpose = 'turn' then total_tokens end) as bigint) as turn_tokens,
        cast(sum(case when purpose = 'verdict' then total_tokens end) as bigint) as verdict_tokens,
        cast(sum(case when purpose = 'unused' then total_tokens end) as bigint) as unused_tokens,
        cast(sum(prompt_tokens) as bigint) as prompt_tokens,
        cast(sum(completion_tokens) as bigint) as completion_tokens,
        cast(sum(cached_tokens) as bigint) as cached_tokens,
        cast(sum(reasoning_tokens) as bigint) as reasoning_tokens,
        cast(sum(case when is_unmetered then n end) as bigint) as count_unmetered

    from expenses
    group by kind, run_tag, subject

),

final as (

    select
        kind, run_tag, subject,
        coalesce(sums.count_turns, 0) as count_turns,
        coalesce(sums.count_unused_calls, 0) as count_unused_calls,
        sums.cost_usd,
        sums.turn_cost_usd,
        sums.verdict_cost_usd,
        sums.unused_cost_usd,
        sums.estimated_cost_usd,
        sums.repriced_cost_usd,
        sums.possible_cost_usd,
        coalesce(sums.count_unpriced, 0) as count_unpriced,
        coalesce(sums.count_unpriced_turns, 0) as count_unpriced_turns,
        coalesce(sums.count_unpriced_verdicts, 0) as count_unpriced_verdicts,
        coalesce(sums.count_unpriced_calls, 0) as count_unpriced_calls,
        sums.total_tokens,
        sums.turn_tokens,
        sums.verdict_tokens,
        sums.unused_tokens,
        sums.prompt_tokens,
        sums.completion_tokens,
        sums.cached_tokens,
        sums.reasoning_tokens,
        coalesce(sums.count_unmetered, 0) as count_unmetered,
        coalesce(verdict_counts.count_verdicts, 0) as count_verdicts,
        coalesce(verdict_counts.count_asks, 0) as count_asks

    from subjects
    left join sums using (kind, run_tag, subject)
    left join verdict_counts using (kind, run_tag, subject)

)

select * from final
