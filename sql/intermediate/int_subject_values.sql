-- One row per subject of comparisons, debater and measure: its value over all debates of the subject, with an interval.
with

topics as (

    select
        members.kind, members.subject, debater_sums.model_id, debater_sums.measure, debater_sums.dimension,
        cast(sum(debater_sums.count_debates) as bigint) as count_debates,
        sum(debater_sums.total) as total

    from intermediate.int_comparison_members as members
    inner join intermediate.int_debater_sums as debater_sums using (run_tag)
    left join staging.stg_topics as topics using (run_tag, topic_id)

    -- A topic with a different motion is a different topic, even if the id is the same.
    group by
        members.kind, members.subject, debater_sums.model_id, debater_sums.measure, debater_sums.dimension,
        debater_sums.topic_id, coalesce(topics.motion, '')

),

means as (

    select
        kind, subject, model_id, measure, dimension,
        cast(sum(count_debates) as bigint) as count_debates,
        count(*) as count_topics,
        cast(sum(total) as double) / sum(count_debates) as value,
        list({'n': count_debates, 'y': cast(total as double)}) as clusters

    from topics
    group by kind, subject, model_id, measure, dimension

),

-- Equal values have an error of 0, and floats give slightly more. Then there is no interval.
errors as (

    select
        * exclude (clusters),
        case when round(macros.mean_error(clusters, value), 12) > 0 then macros.mean_error(clusters, value) end as error

    from means

),

final as (

    select
        errors.kind, errors.subject, errors.model_id, errors.measure,
        nullif(errors.dimension, '') as dimension,
        round(errors.value, 12) as value,
        round(
            macros.at_least(
                errors.value - macros.t_half_width(errors.error, t_quantiles.t_95),
                macros.least_value(errors.measure)
            ),
            12
        ) as ci_low,
        round(
            macros.at_most(
                errors.value + macros.t_half_width(errors.error, t_quantiles.t_95),
                macros.largest_value(errors.measure)
            ),
            12
        ) as ci_high,
        macros.reason_of(errors.error is null, errors.count_debates, errors.value, errors.count_topics, 'topic')
            as reason,
        errors.count_debates, errors.count_topics

    from errors
    left join intermediate.int_t_quantiles as t_quantiles on least(errors.count_topics - 1, 1000) = t_quantiles.df

    union all

    select
        kind, subject, model_id,
        'rating' as measure,
        cast(null as varchar) as dimension,
        rating as value,
        ci_low, ci_high,
        case when interval_method in ('bootstrap_games', 'sandwich_games') then 'few_topics' end as reason,
        games as count_debates,
        count_topics

    from intermediate.int_comparison_ratings

)

select * from final
