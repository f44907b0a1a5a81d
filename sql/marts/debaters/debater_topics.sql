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
        sides.run_tag, sides.model_id, sides.topic_id, sides.side, units.cluster_unit,
        cast(sum(sides.wins + sides.losses + sides.ties) as bigint) as games,
        cast(sum(sides.wins) as bigint) as wins,
        cast(sum(sides.losses) as bigint) as losses,
        cast(sum(sides.ties) as bigint) as ties

    from sides
    inner join intermediate.int_cluster_units as units using (run_tag)
    group by sides.run_tag, sides.model_id, sides.topic_id, sides.side, units.cluster_unit

)

select * from final
