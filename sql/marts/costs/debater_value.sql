-- One row per debater of a run: its cost, what it bought, and whether another debater was cheaper and better.
with

appearances as (

    select
        run_tag,
        pro_model_id as model_id

    from staging.stg_debates

    union all

    select
        run_tag,
        con_model_id as model_id

    from staging.stg_debates

),

debates_held as (

    select
        run_tag, model_id,
        count(*) as count_debates

    from appearances
    group by run_tag, model_id

),

mean_ratings as (

    select
        run_tag,
        -- Summed as decimals, because a sum of floats depends on the order of the rows.
        cast(sum(cast(rating as decimal(18, 9))) as double) / count(*) as mean_rating

    from ratings.bradley_terry
    group by run_tag

),

-- A cost with an unknown part is unknown.
known as (

    select
        debater_costs.run_tag, debater_costs.model_id, bradley_terry.rating,
        bradley_terry.rating - mean_ratings.mean_rating as rating_above_mean,
        coalesce(debater_statistics.games, 0) as games,
        coalesce(debater_statistics.wins, 0) as wins,
        coalesce(debates_held.count_debates, 0) as count_debates,
        case when debater_costs.count_unpriced = 0 then coalesce(debater_costs.cost_usd, 0) end as full_cost_usd

    from marts.debater_costs
    left join ratings.bradley_terry using (run_tag, model_id)
    left join mean_ratings using (run_tag)
    left join marts.debater_statistics using (run_tag, model_id)
    left join debates_held using (run_tag, model_id)

),

prices as (

    select
        run_tag, model_id, rating, rating_above_mean, games, wins, count_debates, full_cost_usd,
        macros.cost_each(full_cost_usd, count_debates) as cost_per_debate_usd,
        macros.cost_each(full_cost_usd, wins) as cost_per_win_usd

    from known

),

beaten as (

    select distinct prices.run_tag, prices.model_id
    from prices

    inner join prices as rivals
        on prices.run_tag = rivals.run_tag
        and rivals.cost_per_debate_usd <= prices.cost_per_debate_usd
        and rivals.rating >= prices.rating
        and (rivals.cost_per_debate_usd < prices.cost_per_debate_usd or rivals.rating > prices.rating)

),

final as (

    select
        prices.run_tag, prices.model_id, prices.rating, prices.games, prices.wins, prices.count_debates,
        prices.full_cost_usd, prices.cost_per_debate_usd, prices.cost_per_win_usd,
        prices.rating_above_mean / nullif(prices.cost_per_debate_usd, 0) as rating_per_usd,
        case
            when prices.rating is not null and prices.cost_per_debate_usd is not null then beaten.model_id is null
        end as is_on_frontier

    from prices
    left join beaten using (run_tag, model_id)

)

select * from final
order by run_tag, rating desc nulls last, model_id
