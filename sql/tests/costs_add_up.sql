-- Runs whose total is not what their debaters and judges cost, unused attempts included.
with

shares as (

    select run_tag, cost_usd, unused_cost_usd from marts.debater_costs
    union all
    select run_tag, cost_usd, unused_cost_usd from marts.judge_costs

),

totals as (

    select
        run_tag,
        coalesce(sum(cost_usd), 0) + coalesce(sum(unused_cost_usd), 0) as cost_usd

    from shares
    group by run_tag

),

final as (

    select runs.run_tag, runs.total_cost_usd, totals.cost_usd
    from marts.runs
    left join totals using (run_tag)
    where coalesce(runs.total_cost_usd, 0) <> coalesce(totals.cost_usd, 0)

)

select * from final
