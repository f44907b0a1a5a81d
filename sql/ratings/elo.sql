-- One row per debater with a rated debate: the rating after the last one.
with

elo_history as (

    select * from ratings.elo_history

),

final as (

    select
        run_tag,
        model_id,
        arg_max(rating_after, game_number) as rating,
        count(*) as games,
        count(case when score = 1 then 1 end) as wins,
        count(case when score = 0 then 1 end) as losses,
        count(case when score = 0.5 then 1 end) as ties

    from elo_history

    group by run_tag, model_id

)

select * from final
