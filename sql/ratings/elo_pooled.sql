-- One row per pool of runs and debater with a rated debate in one of them: Elo over all of them.
with

-- If a pool is a single run, its ratings are already known.
single_ratings as (

    select runs.pool_kind, runs.pool, elo.model_id, elo.rating
    from ratings.elo
    inner join ratings.pooled_runs as runs on elo.run_tag = runs.pooled_run_tag
    where runs.count_runs = 1

),

pooled_games as materialized (

    select
        runs.pool_kind, runs.pool,
        row_number() over (
            partition by runs.pool_kind, runs.pool
            order by runs.run_number, games.game_number
        ) as game_number,
        games.pro_model_id,
        games.con_model_id,
        games.pro_score,
        runs.elo_initial_rating,
        runs.elo_k_factor

    from marts.games
    inner join ratings.pooled_runs as runs on games.run_tag = runs.pooled_run_tag
    where runs.count_runs > 1

),

codes as (

    select
        pool_kind, pool, model_id,
        cast(row_number() over (partition by pool_kind, pool order by model_id) as integer) as code

    from (
        select pool_kind, pool, pro_model_id as model_id from pooled_games
        union
        select pool_kind, pool, con_model_id as model_id from pooled_games
    ) as debaters

),

passes as materialized (

    select
        games.pool_kind, games.pool,
        elo_ratings(
            list(games.game_number),
            list(pro_codes.code),
            list(con_codes.code),
            list(games.pro_score),
            any_value(games.elo_initial_rating),
            any_value(games.elo_k_factor)
        ) as ratings

    from pooled_games as games

    inner join codes as pro_codes
        on games.pool_kind = pro_codes.pool_kind
        and games.pool = pro_codes.pool
        and games.pro_model_id = pro_codes.model_id

    inner join codes as con_codes
        on games.pool_kind = con_codes.pool_kind
        and games.pool = con_codes.pool
        and games.con_model_id = con_codes.model_id

    group by games.pool_kind, games.pool

),

all_ratings as (

    select * from single_ratings

    union all

    select
        codes.pool_kind, codes.pool, codes.model_id,
        passes.ratings[codes.code] as rating

    from codes
    inner join passes using (pool_kind, pool)

),

results as (

    select
        runs.pool_kind, runs.pool, elo.model_id,
        count(*) as count_runs,
        cast(sum(elo.games) as bigint) as games,
        cast(sum(elo.wins) as bigint) as wins,
        cast(sum(elo.losses) as bigint) as losses,
        cast(sum(elo.ties) as bigint) as ties

    from ratings.elo
    inner join ratings.pooled_runs as runs on elo.run_tag = runs.pooled_run_tag
    group by runs.pool_kind, runs.pool, elo.model_id

),

final as (

    select
        pool_kind, pool, model_id, all_ratings.rating, results.count_runs, results.games, results.wins,
        results.losses, results.ties

    from results
    inner join all_ratings using (pool_kind, pool, model_id)

)

select * from final
