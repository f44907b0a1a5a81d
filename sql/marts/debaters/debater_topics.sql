-- One row per debater, topic and side with a rated debate.
with

sides as (

    select
        run_tag,
        pro_model_id as model_id,
        topic_id,
        'pro' as side,
        pro_wins as wins,
        con_wins as losses,
        ties

    from ratings.matchups

    union all

    select
        run_tag,
        con_model_id as model_id,
        topic_id,
        'con' as side,
        con_wins as wins,
        pro_wins as losses,
        ties

    from ratings.matchups

),

final as (

    select
        run_tag, model_id, topic_id, side,
        cast(sum(wins + losses + ties) as bigint) as games,
        cast(sum(wins) as bigint) as wins,
        cast(sum(losses) as bigint) as losses,
        cast(sum(ties) as bigint) as ties

    from sides
    group by run_tag, model_id, topic_id, side

)

select * from final
