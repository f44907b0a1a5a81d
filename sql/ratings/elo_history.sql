-- One row per rated debate and debater, in the order of the games.
select
    games.run_tag, games.game_number, games.debate_id,
    case sides.side when 'pro' then games.pro_model_id else games.con_model_id end as model_id,
    case sides.side when 'pro' then games.con_model_id else games.pro_model_id end as opponent_id,
    games.is_simulated, sides.side,
    case sides.side when 'pro' then games.pro_score else 1 - games.pro_score end as score,
    case sides.side when 'pro' then elo_games.pro_before else elo_games.con_before end as rating_before,
    case sides.side when 'pro' then elo_games.pro_after else elo_games.con_after end as rating_after

from marts.games
inner join ratings.elo_games using (run_tag, game_number)
cross join (values ('pro'), ('con')) as sides (side)
