-- One row per run: what it paid for each rank that is settled, and for each pair of neighbours told apart.
with

-- The rank ranges of all that are ranked above and below the line between two neighbours.
places as (

    select
        run_tag, rank_low, rank_high,
        max(rank_high) over (
            partition by run_tag order by rank, model_id rows between unbounded preceding and current row
        ) as worst_above,
        min(rank_low) over (
            partition by run_tag order by rank, model_id rows between 1 following and unbounded following
        ) as best_below

    from ratings.bradley_terry

),

settled as (

    select
        run_tag,
        count(*) as count_ranks,
        count(case when rank_low = rank_high then 1 end) as count_settled_ranks,
        count(best_below) as count_neighbours,
        count(case when worst_above < best_below then 1 end) as count_settled_neighbours

    from places
    group by run_tag

),

costs as (

    select
        run_tag, cost_usd, count_unpriced,
        case when count_unpriced = 0 then cast(cost_usd as double) end as full_cost_usd

    from intermediate.int_costs
    where kind = 'run'

),

final as (

    select
        costs.run_tag, costs.cost_usd, costs.count_unpriced,
        coalesce(settled.count_ranks, 0) as count_ranks,
        coalesce(settled.count_settled_ranks, 0) as count_settled_ranks,
        costs.full_cost_usd / nullif(settled.count_settled_ranks, 0) as cost_per_settled_rank_usd,
        case
            when settled.run_tag is null then 'no_ranking'
            when settled.count_settled_ranks = 0 then 'none_settled'
            when costs.full_cost_usd is null then 'unknown_cost'
        end as settled_rank_reason,
        coalesce(settled.count_neighbours, 0) as count_neighbours,
        coalesce(settled.count_settled_neighbours, 0) as count_settled_neighbours,
        costs.full_cost_usd / nullif(settled.count_settled_neighbours, 0) as cost_per_settled_neighbours_usd,
        case
            when settled.run_tag is null then 'no_ranking'
            when settled.count_settled_neighbours = 0 then 'none_settled'
            when costs.full_cost_usd is null then 'unknown_cost'
        end as settled_neighbours_reason

    from costs
    left join settled using (run_tag)

)

select * from final
order by run_tag
