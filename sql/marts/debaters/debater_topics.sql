-- One row per debater, topic and side with a rated debate.
with

sides as (

    select
        matchups.run_tag, matchups.topic_id, sides.side, matchups.ties,
        case sides.side when 'pro' then matchups.pro_model_id else matchups.con_model_id end as model_id,
        case sides.side when 'pro' then matchups.pro_wins else matchups.con_wins end as wins,
        case sides.side when 'pro' then matchups.con_wins else matchups.pro_wins end as losses

    from ratings.matchups
    cross join (values ('pro'), ('con')) as sides (side)

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
