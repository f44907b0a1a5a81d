-- One row per run, debater, judge, stage and panel of a run with a debate of known cost: its cost in one debate.
with

-- Named once: DuckDB would expand the view again for each branch.
attempts as (

    select
        run_tag, debate_id, model_id, judge_id, stage, cost_usd, is_unpriced

    from intermediate.int_expenses

),

expenses as (

    select 'run' as kind, run_tag as subject, * from attempts
    union all
    select 'debater' as kind, model_id as subject, * from attempts where model_id is not null
    union all
    select 'judge' as kind, judge_id as subject, * from attempts where judge_id is not null
    union all
    select 'stage' as kind, stage as subject, * from attempts where stage is not null
    union all
    select 'panel' as kind, run_tag as subject, * from attempts where judge_id is not null

),

-- A cost with an unknown part is left out: it is too low.
priced_debates as (

    select
        kind, run_tag, subject, debate_id,
        cast(sum(cost_usd) as double) as cost_usd

    from expenses
    group by kind, run_tag, subject, debate_id
    having count(case when is_unpriced then 1 end) = 0 and sum(cost_usd) is not null

),

final as (

    select
        kind, run_tag, subject,
        count(*) as count_priced_debates,
        quantile_cont(cost_usd, 0.5) as median_debate_cost_usd,
        quantile_cont(cost_usd, 0.9) as p90_debate_cost_usd

    from priced_debates
    group by kind, run_tag, subject

)

select * from final
