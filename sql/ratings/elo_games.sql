-- One row per rated debate, in the order of the games, with the ratings of both sides before and after.
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
        cast(row_number() over (partition by run_tag order by model_id) as integer) as code

    from debaters

),

coded_games as materialized (

    select
        games.*,
        pro_codes.code as pro_code,
        con_codes.code as con_code

    from games

    inner join codes as pro_codes
        on games.run_tag = pro_codes.run_tag
        and games.pro_model_id = pro_codes.model_id

    inner join codes as con_codes
        on games.run_tag = con_codes.run_tag
        and games.con_model_id = con_codes.model_id

),

game_lists as (

    select
        run_tag,
        list(game_number) as game_numbers,
        list(pro_code) as pro_codes,
        list(con_code) as con_codes,
        list(pro_score) as pro_scores

    from coded_games

    group by run_tag

),

-- Materialised, so that the pass is made once and not once per list that is taken from it.
paths as materialized (

    select
        game_lists.run_tag,
        cast(
            elo_path(
                game_lists.game_numbers,
                game_lists.pro_codes,
                game_lists.con_codes,
                game_lists.pro_scores,
                runs.elo_initial_rating,
                runs.elo_k_factor
            ) as struct(pro_before double[], con_before double[], pro_gain double[])
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
        unnest(path.pro_gain) as pro_gain

    from paths

),

final as (

    select
        coded_games.run_tag,
        coded_games.game_number,
        coded_games.debate_id,
        coded_games.pro_model_id,
        coded_games.con_model_id,
        coded_games.pro_code,
        coded_games.con_code,
        coded_games.pro_score,
        steps.pro_before,
        steps.con_before,
        steps.pro_before + steps.pro_gain as pro_after,
        steps.con_before - steps.pro_gain as con_after

    from coded_games

    inner join steps
        on coded_games.run_tag = steps.run_tag
        and coded_games.game_number = steps.game_number

)

select * from final
