-- One row per pair of debaters with a rated debate against each other: who won how often.
with

topics as (

    select
        run_tag, topic_id,
        least(pro_model_id, con_model_id) as model_a,
        greatest(pro_model_id, con_model_id) as model_b,
        cast(sum(case when pro_model_id < con_model_id then pro_wins else con_wins end) as bigint) as a_wins,
        cast(sum(case when pro_model_id < con_model_id then con_wins else pro_wins end) as bigint) as b_wins,
        cast(sum(ties) as bigint) as ties

    from ratings.matchups
    group by all

),

-- Topics on which every debate was a tie say nothing about which of the two wins.
pairs as (

    select
        topics.run_tag, topics.model_a, topics.model_b, units.cluster_unit,
        cast(sum(topics.a_wins + topics.b_wins + topics.ties) as bigint) as games,
        cast(sum(topics.a_wins) as bigint) as a_wins,
        cast(sum(topics.b_wins) as bigint) as b_wins,
        cast(sum(topics.ties) as bigint) as ties,
        list_filter(
            list({'n': topics.a_wins + topics.b_wins, 'y': topics.a_wins}), lambda each: each.n > 0
        ) as decisive_topics

    from topics
    inner join intermediate.int_cluster_units as units using (run_tag)
    group by topics.run_tag, topics.model_a, topics.model_b, units.cluster_unit

),

rates as (

    select
        *,
        cast(a_wins as double) / nullif(a_wins + b_wins, 0) as decisive_rate,
        case when cluster_unit = 'topic' then len(decisive_topics) else a_wins + b_wins end as count_clusters

    from pairs

),

tested as (

    select
        *,
        case
            when count_clusters = a_wins + b_wins then macros.sign_test_p(a_wins, b_wins)
            else
                macros.difference_p(
                    decisive_rate - 0.5,
                    macros.mean_error(decisive_topics, decisive_rate),
                    count_clusters,
                    len(list_filter(decisive_topics, lambda each: 2 * each.y > each.n)),
                    len(list_filter(decisive_topics, lambda each: 2 * each.y < each.n)),
                    false
                )
        end as wins_p_value

    from rates

),

final as (

    select
        run_tag, model_a, model_b, games, a_wins, b_wins, ties, wins_p_value,
        macros.reason_of(wins_p_value is null, a_wins + b_wins, decisive_rate, count_clusters, cluster_unit)
            as wins_reason,
        cluster_unit, count_clusters

    from tested

)

select * from final
