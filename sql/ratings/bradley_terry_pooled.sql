-- One row per pool of runs and debater with a rated debate in one of them: Bradley–Terry over all of them.
with

-- If a pool is a single whole run, its ratings are already known.
single_ratings as (

    select
        runs.pool_kind, runs.pool, runs.is_simulated, bradley_terry.model_id, bradley_terry.rating, bradley_terry.ci_low,
        bradley_terry.ci_high, bradley_terry.rank, bradley_terry.rank_low, bradley_terry.rank_high,
        bradley_terry.games, bradley_terry.count_topics, bradley_terry.interval_method, bradley_terry.is_separated,
        bradley_terry.component, runs.count_runs

    from ratings.bradley_terry
    inner join ratings.pooled_runs as runs on bradley_terry.run_tag = runs.pooled_run_tag
    where runs.count_runs = 1 and runs.is_whole

),

-- Runs with the same topic id are assumed to have debated the same topic.
pooled_matchups as materialized (

    select
        games.pool_kind, games.pool, games.is_simulated, games.topic_id, games.pro_model_id, games.con_model_id,
        any_value(runs.count_runs) as count_runs,
        any_value(runs.elo_initial_rating) as elo_initial_rating,
        cast(count(case when games.pro_score = 1 then 1 end) as integer) as pro_wins,
        cast(count(case when games.pro_score = 0.5 then 1 end) as integer) as ties,
        cast(count(case when games.pro_score = 0 then 1 end) as integer) as con_wins

    from ratings.pooled_games as games
    inner join ratings.pooled_runs as runs using (pool_kind, pool, is_simulated, pooled_run_tag)
    where not games.is_repeated and (runs.count_runs > 1 or not runs.is_whole)
    group by
        games.pool_kind,
        games.pool,
        games.is_simulated,
        games.topic_id,
        games.pro_model_id,
        games.con_model_id

),

sides as (

    select pool_kind, pool, is_simulated, pro_model_id as model_id, pro_wins + ties + con_wins as games
    from pooled_matchups

    union all

    select pool_kind, pool, is_simulated, con_model_id as model_id, pro_wins + ties + con_wins as games
    from pooled_matchups

),

debaters as (

    select
        pool_kind, pool, is_simulated, model_id,
        cast(row_number() over (partition by pool_kind, pool, is_simulated order by model_id) as integer) as code,
        cast(sum(games) as bigint) as games

    from sides
    group by pool_kind, pool, is_simulated, model_id

),

coded_matchups as (

    select
        matchups.*,
        cast(
            dense_rank() over (
                partition by matchups.pool_kind, matchups.pool, matchups.is_simulated
                order by matchups.topic_id
            ) as integer
        ) as topic_code,
        pro_codes.code as pro_code,
        con_codes.code as con_code

    from pooled_matchups as matchups

    inner join debaters as pro_codes
        on matchups.pool_kind = pro_codes.pool_kind
        and matchups.pool = pro_codes.pool
        and matchups.is_simulated = pro_codes.is_simulated
        and matchups.pro_model_id = pro_codes.model_id

    inner join debaters as con_codes
        on matchups.pool_kind = con_codes.pool_kind
        and matchups.pool = con_codes.pool
        and matchups.is_simulated = con_codes.is_simulated
        and matchups.con_model_id = con_codes.model_id

),

fits as materialized (

    select
        pool_kind, pool, is_simulated,
        any_value(count_runs) as count_runs,
        bradley_terry_standings(
            list(topic_code),
            list(pro_code),
            list(con_code),
            list(pro_wins),
            list(ties),
            list(con_wins),
            any_value(elo_initial_rating),
            1000,
            0
        ) as standings

    from coded_matchups
    group by pool_kind, pool, is_simulated

),

final as (

    select * from single_ratings

    union all

    select
        pool_kind, pool, is_simulated, debaters.model_id,
        fits.standings.rating[debaters.code] as rating,
        fits.standings.ci_low[debaters.code] as ci_low,
        fits.standings.ci_high[debaters.code] as ci_high,
        fits.standings.rank[debaters.code] as rank,
        fits.standings.rank_low[debaters.code] as rank_low,
        fits.standings.rank_high[debaters.code] as rank_high,
        debaters.games,
        fits.standings.count_topics as count_topics,
        fits.standings.interval_method as interval_method,
        fits.standings.is_separated as is_separated,
        fits.standings.component[debaters.code] as component,
        fits.count_runs

    from debaters
    inner join fits using (pool_kind, pool, is_simulated)

)

select * from final
