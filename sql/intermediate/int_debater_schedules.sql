-- One row per debater with a rated debate: how many opponents it met, and how strong they are.
with

opponents as (

    select run_tag, pro_model_id as model_id, con_model_id as opponent_id, pro_wins + con_wins + ties as games
    from ratings.matchups

    union all

    select run_tag, con_model_id as model_id, pro_model_id as opponent_id, pro_wins + con_wins + ties as games
    from ratings.matchups

),

final as (

    select
        opponents.run_tag, opponents.model_id,
        count(distinct opponents.opponent_id) as count_opponents,
        -- Summed as decimals, because a sum of floats depends on the order of the rows.
        cast(sum(cast(bradley_terry.rating as decimal(18, 9)) * opponents.games) as double)
        / sum(opponents.games) as mean_opponent_rating

    from opponents

    inner join ratings.bradley_terry
        on opponents.run_tag = bradley_terry.run_tag
        and opponents.opponent_id = bradley_terry.model_id

    group by opponents.run_tag, opponents.model_id

)

select * from final
