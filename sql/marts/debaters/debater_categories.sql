-- One row per debater and category with a rated debate: is it better or worse there than elsewhere?
with

topic_sums as (

    select
        debater_topics.run_tag, debater_topics.model_id, debater_topics.topic_id,
        coalesce(topics.category, 'uncategorized') as category,
        cast(sum(debater_topics.games) as bigint) as n,
        cast(sum(2 * debater_topics.wins + debater_topics.ties) as double) / 2 as y

    from marts.debater_topics
    left join staging.stg_topics as topics using (run_tag, topic_id)
    group by
        debater_topics.run_tag, debater_topics.model_id, debater_topics.topic_id,
        coalesce(topics.category, 'uncategorized')

),

debaters as (

    select
        run_tag, model_id,
        list({'category': category, 'n': n, 'y': y}) as topics

    from topic_sums
    group by run_tag, model_id

),

compared as (

    select
        rates.run_tag, rates.model_id,
        rates.part as category,
        rates.games, rates.wins, rates.losses, rates.ties, rates.win_rate, rates.win_rate_ci_low,
        rates.win_rate_ci_high, rates.win_rate_reason, rates.count_topics, rates.cluster_unit,
        totals.games - rates.games as other_games,
        totals.wins - rates.wins as other_wins,
        totals.losses - rates.losses as other_losses,
        (totals.wins - rates.wins + 0.5 * (totals.ties - rates.ties)) / nullif(totals.games - rates.games, 0)
            as other_win_rate,
        totals.count_topics - rates.count_topics as count_other_topics,
        rates.count_clusters = rates.games and totals.count_clusters = totals.games as is_exact,
        list_filter(debaters.topics, lambda each: each.category = rates.part) as topics,
        list_filter(debaters.topics, lambda each: each.category <> rates.part) as other_topics

    from intermediate.int_debater_rates as rates
    inner join intermediate.int_debater_rates as totals
        on rates.run_tag = totals.run_tag
        and rates.model_id = totals.model_id
        and totals.kind = 'all'
    inner join debaters on rates.run_tag = debaters.run_tag and rates.model_id = debaters.model_id
    where rates.kind = 'category'

),

errors as (

    select
        *,
        win_rate - other_win_rate as difference,
        least(count_topics, count_other_topics) as count_clusters,
        sqrt(
            pow(macros.mean_error(topics, win_rate), 2) + pow(macros.mean_error(other_topics, other_win_rate), 2)
        ) as standard_error

    from compared

),

-- Where all topics of a category went one way and all others another way, topics are counted like debates.
tested as materialized (

    select
        *,
        case
            when is_exact then fisher_exact(wins, losses, other_wins, other_losses)
            when count_clusters < 2 then null
            when standard_error = 0 and difference <> 0 then fisher_exact(count_topics, 0, 0, count_other_topics)
            else macros.difference_p(difference, standard_error, count_clusters, 0, 0, false)
        end as p_value

    from errors

),

steps as (

    select
        *,
        macros.holm_step(p_value, run_tag) as holm_step,
        macros.benjamini_hochberg_step(p_value, run_tag) as benjamini_hochberg_step

    from tested

),

final as (

    select
        run_tag, model_id, category, games, wins, losses, ties, win_rate, win_rate_ci_low, win_rate_ci_high,
        win_rate_reason, count_topics, other_games, other_win_rate, difference, p_value,
        macros.holm_p(p_value, holm_step, run_tag) as p_value_holm,
        macros.benjamini_hochberg_p(p_value, benjamini_hochberg_step, run_tag) as p_value_bh,
        macros.reason_of(
            p_value is null,
            other_games,
            difference,
            case when cluster_unit = 'topic' then count_clusters else least(games, other_games) end,
            cluster_unit
        ) as reason

    from steps

)

select * from final
