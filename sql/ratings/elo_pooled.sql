-- One row per pool of debates and debater with a rated debate in it: Elo over all of them.
with

-- If a pool is a single whole run, its ratings are already known.
single_ratings as (

    select
        runs.pool_kind, runs.pool, runs.is_simulated, elo.model_id, elo.rating,
        1 as count_runs,
        elo.games, elo.wins, elo.losses, elo.ties

    from ratings.elo
    inner join ratings.pooled_runs as runs on elo.run_tag = runs.pooled_run_tag
    where runs.count_runs = 1 and runs.is_whole

),

games as materialized (

    select
        games.pool_kind, games.pool, games.is_simulated, games.pooled_run_tag,
        row_number() over (
            partition by games.pool_kind, games.pool, games.is_simulated
            order by runs.run_number, games.game_number
        ) as game_number,
        games.pro_model_id, games.con_model_id, games.pro_score, runs.elo_initial_rating, runs.elo_k_factor

    from ratings.pooled_games as games
    inner join ratings.pooled_runs as runs using (pool_kind, pool, is_simulated, pooled_run_tag)
    where not games.is_repeated and (runs.count_runs > 1 or not runs.is_whole)

),

sides as (

    select pool_kind, pool, is_simulated, pooled_run_tag, pro_model_id as model_id, pro_score as score from games
    union all
    select pool_kind, pool, is_simulated, pooled_run_tag, con_model_id as model_id, 1 - pro_score as score from games

),

results as materialized (

    select
        pool_kind, pool, is_simulated, model_id,
        cast(row_number() over (partition by pool_kind, pool, is_simulated order by model_id) as integer) as code,
        count(distinct pooled_run_tag) as count_runs,
        count(*) as games,
        count(case when score = 1 then 1 end) as wins,
        count(case when score = 0 then 1 end) as losses,
        count(case when score = 0.5 then 1 end) as ties

    from sides
    group by pool_kind, pool, is_simulated, model_id

),

passes as materialized (

    select
        games.pool_kind, games.pool, games.is_simulated,
        elo_ratings(
            list(games.game_number),
            list(pro_codes.code),
            list(con_codes.code),
            list(games.pro_score),
            any_value(games.elo_initial_rating),
            any_value(games.elo_k_factor)
        ) as ratings

    from games

    inner join results as pro_codes
        on games.pool_kind = pro_codes.pool_kind
        and games.pool = pro_codes.pool
        and games.is_simulated = pro_codes.is_simulated
        and games.pro_model_id = pro_codes.model_id

    inner join results as con_codes
        on games.pool_kind = con_codes.pool_kind
        and games.pool = con_codes.pool
        and games.is_simulated = con_codes.is_simulated
        and games.con_model_id = con_codes.model_id

    group by games.pool_kind, games.pool, games.is_simulated

),

final as (

    select * from single_ratings

    union all

    select
        pool_kind, pool, is_simulated, results.model_id,
        passes.ratings[results.code] as rating,
        results.count_runs, results.games, results.wins, results.losses, results.ties

    from results
    inner join passes using (pool_kind, pool, is_simulated)

)

select * from final
