-- One row per debater with a rated debate and part of its debates: all, a side, or a category.
with

parts as (

    select
        debater_topics.run_tag, debater_topics.model_id, debater_topics.topic_id, debater_topics.cluster_unit,
        debater_topics.games, debater_topics.wins, debater_topics.losses, debater_topics.ties,
        unnest(
            [
                {'kind': 'all', 'name': 'all'},
                {'kind': 'side', 'name': debater_topics.side},
                {'kind': 'category', 'name': coalesce(topics.category, 'uncategorized')}
            ]
        ) as part

    from marts.debater_topics
    left join staging.stg_topics as topics using (run_tag, topic_id)

),

topic_sums as (

    select
        run_tag, model_id, cluster_unit, topic_id,
        part.kind as kind,
        part.name as part,
        cast(sum(games) as bigint) as games,
        cast(sum(wins) as bigint) as wins,
        cast(sum(losses) as bigint) as losses,
        cast(sum(ties) as bigint) as ties

    from parts
    group by run_tag, model_id, cluster_unit, topic_id, part.kind, part.name

),

rates as (

    select
        run_tag, model_id, cluster_unit, kind, part,
        cast(sum(games) as bigint) as games,
        cast(sum(wins) as bigint) as wins,
        cast(sum(losses) as bigint) as losses,
        cast(sum(ties) as bigint) as ties,
        cast(sum(2 * wins + ties) as double) / (2 * sum(games)) as win_rate,
        count(*) as count_topics,
        case when cluster_unit = 'topic' then count(*) else cast(sum(games) as bigint) end as count_clusters,
        list({'n': games, 'y': wins + 0.5 * ties}) as topics

    from topic_sums
    group by run_tag, model_id, cluster_unit, kind, part

),

counted as (

    select
        rates.*,
        macros.effective_count(
            rates.win_rate,
            rates.games,
            rates.count_clusters,
            macros.mean_error(rates.topics, rates.win_rate),
            of_games.t_95,
            of_clusters.t_95
        ) as effective_games

    from rates
    left join intermediate.int_t_quantiles as of_games on rates.games - 1 = of_games.df
    left join intermediate.int_t_quantiles as of_clusters on rates.count_clusters - 1 = of_clusters.df

),

final as (

    select
        run_tag, model_id, kind, part, games, wins, losses, ties, win_rate,
        macros.wilson_low(win_rate * effective_games, effective_games) as win_rate_ci_low,
        macros.wilson_high(win_rate * effective_games, effective_games) as win_rate_ci_high,
        macros.reason_of(effective_games is null, games, win_rate, count_clusters, cluster_unit) as win_rate_reason,
        count_topics, cluster_unit, count_clusters

    from counted

)

select * from final
