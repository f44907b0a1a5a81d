-- Games that a debater did not start with its rating after the previous game, or, in its first game, with the initial
-- rating.
with

steps as (

    select
        run_tag, model_id, game_number, rating_before,
        lag(rating_after) over (partition by run_tag, model_id order by game_number) as last_rating

    from ratings.elo_history

),

final as (

    select steps.*
    from steps
    inner join staging.stg_runs as runs using (run_tag)
    where steps.rating_before <> coalesce(steps.last_rating, runs.elo_initial_rating)

)

select * from final
