-- One row per benchmark version and debater with a rated debate in one of its runs: Elo over all of them.
with

-- Runs follow one another in the order in which they were made. The last one says how to rate.
rated_runs as (

    select run_tag, benchmark_version, elo_initial_rating, elo_k_factor, created_at
    from staging.stg_runs as runs

    where
        benchmark_version is not null
        and run_tag in (select elo.run_tag from ratings.elo)

),

numbered_runs as (

    select
        *,
        row_number() over (partition by benchmark_version order by created_at nulls last, run_tag) as run_number,
        count(*) over (partition by benchmark_version) as count_runs

    from rated_runs

),

last_runs as (

    select * from numbered_runs where run_number = count_runs

),

-- Where there is one run only, its ratings are known.
single_ratings as (

    select last_runs.benchmark_version, elo.model_id, elo.rating
    from last_runs
    inner join ratings.elo using (run_tag)
    where last_runs.count_runs = 1

),

pooled_games as materialized (

    select
        numbered_runs.benchmark_version,
        row_number() over (
            partition by numbered_runs.benchmark_version
            order by numbered_runs.run_number, games.game_number
        ) as game_number,
        games.pro_model_id,
        games.con_model_id,
        games.pro_score

    from marts.games
    inner join numbered_runs using (run_tag)
    where numbered_runs.count_runs > 1

),

pooled_debaters as (

    select
        benchmark_version,
        pro_model_id as model_id

    from pooled_games

    union

    select
        benchmark_version,
        con_model_id as model_id

    from pooled_games

),

codes as (

    select
        benchmark_version, model_id,
        cast(row_number() over (partition by benchmark_version order by model_id) as integer) as code

    from pooled_debaters

),

game_lists as (

    select
        pooled_games.benchmark_version,
        list(pooled_games.game_number) as game_numbers,
        list(pro_codes.code) as pro_codes,
        list(con_codes.code) as con_codes,
        list(pooled_games.pro_score) as pro_scores

    from pooled_games

    inner join codes as pro_codes
        on pooled_games.benchmark_version = pro_codes.benchmark_version
        and pooled_games.pro_model_id = pro_codes.model_id

    inner join codes as con_codes
        on pooled_games.benchmark_version = con_codes.benchmark_version
        and pooled_games.con_model_id = con_codes.model_id

    group by pooled_games.benchmark_version

),

passes as materialized (

    select
        game_lists.benchmark_version,
        elo_ratings(
            game_lists.game_numbers,
            game_lists.pro_codes,
            game_lists.con_codes,
            game_lists.pro_scores,
            last_runs.elo_initial_rating,
            last_runs.elo_k_factor
        ) as ratings

    from game_lists
    inner join last_runs using (benchmark_version)

),

pooled_ratings as (

    select
        codes.benchmark_version, codes.model_id,
        passes.ratings[codes.code] as rating

    from codes
    inner join passes using (benchmark_version)

),

all_ratings as (

    select * from single_ratings
    union all
    select * from pooled_ratings

),

results as (

    select
        numbered_runs.benchmark_version, elo.model_id,
        count(*) as count_runs,
        sum(elo.games) as games,
        sum(elo.wins) as wins,
        sum(elo.losses) as losses,
        sum(elo.ties) as ties

    from ratings.elo
    inner join numbered_runs using (run_tag)
    group by numbered_runs.benchmark_version, elo.model_id

),

final as (

    select
        results.benchmark_version, results.model_id, all_ratings.rating, results.count_runs,
        cast(results.games as bigint) as games,
        cast(results.wins as bigint) as wins,
        cast(results.losses as bigint) as losses,
        cast(results.ties as bigint) as ties

    from results
    inner join all_ratings using (benchmark_version, model_id)

)

select * from final
