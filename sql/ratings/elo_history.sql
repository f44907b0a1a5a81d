-- One row per rated debate and debater, in the order of the games.
with

-- Materialised, because the numbering of the games is read twice.
games as materialized (

    select * from marts.games

),

runs as (

    select * from staging.stg_runs

),

debaters as (

    select
        run_tag,
        pro_model_id as model_id

    from games

    union

    select
        run_tag,
        con_model_id as model_id

    from games

),

-- The rating pass knows debaters by numbers from 1.
codes as (

    select
        run_tag,
        model_id,
        row_number() over (partition by run_tag order by model_id) as code

    from debaters

),

game_lists as (

    select
        games.run_tag,
        list(games.game_number) as game_numbers,
        list(cast(pro_codes.code as integer)) as pro_codes,
        list(cast(con_codes.code as integer)) as con_codes,
        list(games.pro_score) as pro_scores

    from games

    inner join codes as pro_codes
        on games.run_tag = pro_codes.run_tag
        and games.pro_model_id = pro_codes.model_id

    inner join codes as con_codes
        on games.run_tag = con_codes.run_tag
        and games.con_model_id = con_codes.model_id

    group by games.run_tag

),

-- Materialised, so that the pass is made once and not once per list that is taken from it.
paths as materialized (

    select
        game_lists.run_tag,
        elo_path(
            game_lists.game_numbers,
            game_lists.pro_codes,
            game_lists.con_codes,
            game_lists.pro_scores,
            runs.elo_initial_rating,
            runs.elo_k_factor
        ) as path

    from game_lists

    inner join runs
        on game_lists.run_tag = runs.run_tag

),

-- Games are numbered from 1 without gaps, so a place in the lists is a game's number.
steps as (

    select
        run_tag,
        generate_subscripts(path.pro_before, 1) as game_number,
        unnest(path.pro_before) as pro_before,
        unnest(path.con_before) as con_before,
        unnest(path.pro_after) as pro_after,
        unnest(path.con_after) as con_after

    from paths

),

rated_games as materialized (

    select
        games.*,
        steps.pro_before,
        steps.con_before,
        steps.pro_after,
        steps.con_after

    from games

    inner join steps
        on games.run_tag = steps.run_tag
        and games.game_number = steps.game_number

),

pro_ratings as (

    select
        run_tag,
        game_number,
        debate_id,
        pro_model_id as model_id,
        con_model_id as opponent_id,
        'pro' as side,
        pro_score as score,
        pro_before as rating_before,
        pro_after as rating_after

    from rated_games

),

con_ratings as (

    select
        run_tag,
        game_number,
        debate_id,
        con_model_id as model_id,
        pro_model_id as opponent_id,
        'con' as side,
        1 - pro_score as score,
        con_before as rating_before,
        con_after as rating_after

    from rated_games

),

final as (

    select * from pro_ratings

    union all

    select * from con_ratings

)

select * from final
