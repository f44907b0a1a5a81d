-- Runs whose cost is not the sum of the costs of their debaters and judges, or of the costs of their debates, including
-- debates that have not ended.
with

shares as (

    select run_tag, 'debaters and judges' as parts, cost_usd from marts.debater_costs
    union all
    select run_tag, 'debaters and judges' as parts, cost_usd from marts.judge_costs
    union all
    select run_tag, 'debates' as parts, cost_usd from marts.debate_costs
    union all
    select run_tag, 'debates' as parts, cost_usd from intermediate.int_expenses as expenses
    where
        not exists (
            select 1
            from staging.stg_debates as debates
            where debates.run_tag = expenses.run_tag and debates.debate_id = expenses.debate_id
        )

),

totals as (

    select
        run_tag, parts,
        coalesce(sum(cost_usd), 0) as sum_usd

    from shares
    group by run_tag, parts

),

final as (

    select run_tag, totals.parts, totals.sum_usd, runs.cost_usd
    from totals
    inner join marts.runs using (run_tag)
    where totals.sum_usd <> coalesce(runs.cost_usd, 0)

)

select * from final
