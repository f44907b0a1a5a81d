-- One row per debater with a rated debate: its last rating, and how far it depends on the order of debates.
with

-- Counted per side first, because there are many games and few debaters.
sides as (

    select
        run_tag,
        pro_model_id as model_id,
        'pro' as side,
        max(game_number) as last_game,
        count(case when pro_score = 1 then 1 end) as wins,
        count(case when pro_score = 0 then 1 end) as losses,
        count(case when pro_score = 0.5 then 1 end) as ties,
        count(case when is_simulated then 1 end) as count_simulated

    from marts.games
    group by run_tag, pro_model_id

    union all

    select
        run_tag,
        con_model_id as model_id,
        'con' as side,
        max(game_number) as last_game,
        count(case when pro_score = 0 then 1 end) as wins,
        count(case when pro_score = 1 then 1 end) as losses,
        count(case when pro_score = 0.5 then 1 end) as ties,
        count(case when is_simulated then 1 end) as count_simulated

    from marts.games
    group by run_tag, con_model_id

),

totals as (

    select
        run_tag, model_id,
        max(last_game) as last_game,
        arg_max(side, last_game) as last_side,
        row_number() over (partition by run_tag order by model_id) as code,
        cast(sum(wins + losses + ties) as bigint) as games,
        cast(sum(wins) as bigint) as wins,
        cast(sum(losses) as bigint) as losses,
        cast(sum(ties) as bigint) as ties,
        sum(count_simulated) = sum(wins + losses + ties) as is_simulated

    from sides
    group by run_tag, model_id

),

-- After two hundred games, little of a debater's earlier Elo rating is left, so two hundred games per debater are
-- enough to show the effect of their order in a large run.
sizes as (

    select
        run_tag,
        sum(games) / 2 as count_games,
        greatest(2000, 200 * count(*)) as most_games

    from totals
    group by run_tag

),

sampled_games as (

    select games.*
    from marts.games
    inner join sizes using (run_tag)
    where macros.is_sampled(games.game_number, sizes.most_games, sizes.count_games)

),

game_lists as (

    select
        run_tag,
        list(game_number) as game_numbers,
        list(pro_code) as pro_codes,
        list(con_code) as con_codes,
        list(pro_score) as pro_scores,
        count(*) as count_games

    from sampled_games
    group by run_tag

),

orders as materialized (

    select
        game_lists.run_tag, game_lists.count_games,
        elo_over_orders(
            game_lists.game_numbers,
            game_lists.pro_codes,
            game_lists.con_codes,
            game_lists.pro_scores,
            runs.elo_initial_rating,
            runs.elo_k_factor,
            100,
            0
        ) as spread

    from game_lists
    inner join staging.stg_runs as runs using (run_tag)

),

final as (

    select
        totals.run_tag, totals.model_id, totals.is_simulated,
        case totals.last_side when 'pro' then elo_games.pro_after else elo_games.con_after end as rating,
        totals.games, totals.wins, totals.losses, totals.ties,
        orders.spread.mean[totals.code] as mean_over_orders,
        orders.spread.sd[totals.code] as sd_over_orders,
        orders.spread.rank_low[totals.code] as rank_low_over_orders,
        orders.spread.rank_high[totals.code] as rank_high_over_orders,
        orders.spread.count as count_orders,
        orders.count_games as count_games_per_order

    from totals
    inner join orders using (run_tag)

    inner join ratings.elo_games
        on totals.run_tag = elo_games.run_tag
        and totals.last_game = elo_games.game_number

)

select * from final
