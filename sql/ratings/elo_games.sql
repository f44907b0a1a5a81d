-- One row per game of `marts.games`: the ratings of both sides before and after.
with

game_lists as (

    select
        run_tag,
        list(game_number) as game_numbers,
        list(pro_code) as pro_codes,
        list(con_code) as con_codes,
        list(pro_score) as pro_scores

    from marts.games
    group by run_tag

),

-- Materialised, so that the ratings are computed once, not once per list that is taken from them.
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
    inner join staging.stg_runs as runs using (run_tag)

),

-- Games are numbered from 1 without gaps, so a position in the lists is the number of a game.
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
        run_tag, game_number, games.is_simulated, steps.pro_before, steps.con_before,
        steps.pro_before + steps.pro_gain as pro_after,
        steps.con_before - steps.pro_gain as con_after

    from steps
    inner join marts.games using (run_tag, game_number)

)

select * from final
