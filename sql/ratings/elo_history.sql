-- One row per rated debate and debater, in the order of the games.
with

rated_games as (

    select
        games.*,
        elo_games.pro_before, elo_games.con_before, elo_games.pro_after, elo_games.con_after

    from marts.games
    inner join ratings.elo_games using (run_tag, game_number)

),

pro_ratings as (

    select
        run_tag, game_number, debate_id,
        pro_model_id as model_id,
        con_model_id as opponent_id,
        is_simulated,
        'pro' as side,
        pro_score as score,
        pro_before as rating_before,
        pro_after as rating_after

    from rated_games

),

con_ratings as (

    select
        run_tag, game_number, debate_id,
        con_model_id as model_id,
        pro_model_id as opponent_id,
        is_simulated,
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
