-- Runs whose cost is not the sum of the costs of their debaters and judges, of the costs of their stages, or of the costs
-- of their debates, including debates that have not ended. The stage of a turn may be unknown in an import.
with

without_stages as (

    select distinct run_tag from intermediate.int_expenses where model_id is not null and stage is null

),

shares as (

    select run_tag, 'debaters and judges' as parts, cost_usd, count_unpriced, total_tokens from marts.debater_costs
    union all
    select run_tag, 'debaters and judges' as parts, cost_usd, count_unpriced, total_tokens from marts.judge_costs
    union all
    select run_tag, 'stages' as parts, cost_usd, count_unpriced, total_tokens
    from marts.stage_costs
    where run_tag not in (select run_tag from without_stages)
    union all
    select run_tag, 'debates' as parts, cost_usd, count_unpriced, total_tokens from marts.debate_costs
    union all
    select
        run_tag, 'debates' as parts, cost_usd,
        case when is_unpriced then 1 else 0 end as count_unpriced,
        total_tokens

    from intermediate.int_expenses as expenses
    where
        not exists (
            select 1
            from marts.debate_costs as costs
            where costs.run_tag = expenses.run_tag and costs.debate_id = expenses.debate_id
        )

),

totals as (

    select
        run_tag, parts,
        coalesce(sum(cost_usd), 0) as sum_usd,
        sum(count_unpriced) as sum_unpriced,
        coalesce(sum(total_tokens), 0) as sum_tokens

    from shares
    group by run_tag, parts

),

final as (

    select
        run_tag, totals.parts,
        totals.sum_usd, runs.cost_usd,
        totals.sum_unpriced, runs.count_unpriced,
        totals.sum_tokens, runs.total_tokens

    from totals
    inner join marts.runs using (run_tag)
    where
        totals.sum_usd <> coalesce(runs.cost_usd, 0)
        or totals.sum_unpriced <> runs.count_unpriced
        or totals.sum_tokens <> coalesce(runs.total_tokens, 0)

)

select * from final
