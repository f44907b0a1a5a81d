-- Rated debates without exactly one row per side in the rating history, and rows of the history without a rated debate.
with

rated as (

    select
        run_tag, debate_id,
        count(case when side = 'pro' then 1 end) as count_pro,
        count(case when side = 'con' then 1 end) as count_con

    from ratings.elo_history
    group by run_tag, debate_id

),

final as (

    select
        coalesce(games.run_tag, rated.run_tag) as run_tag,
        coalesce(games.debate_id, rated.debate_id) as debate_id,
        rated.count_pro, rated.count_con

    from marts.games

    full outer join rated
        on games.run_tag = rated.run_tag
        and games.debate_id = rated.debate_id

    where
        games.debate_id is null
        or coalesce(rated.count_pro, 0) <> 1
        or coalesce(rated.count_con, 0) <> 1

)

select * from final
