-- One row per pair of debaters next to each other in a run's ranking; debaters that share a rank are all neighbours.
with

-- Equal ratings are one level, so that no neighbour depends on the names of debaters.
places as (

    select
        run_tag, model_id, rank, rating, games, count_topics,
        dense_rank() over (partition by run_tag order by rank) as level

    from ratings.bradley_terry

),

pairs as (

    select
        upper.run_tag, upper.rank, upper.model_id,
        lower.rank as next_rank,
        lower.model_id as next_model_id,
        upper.rating - lower.rating as rating_gap,
        upper.count_topics,
        upper.games + lower.games - coalesce(met.games, 0) as count_debates

    from places as upper

    inner join places as lower
        on upper.run_tag = lower.run_tag
        and (upper.level + 1 = lower.level or (upper.level = lower.level and upper.model_id < lower.model_id))

    left join marts.head_to_head as met
        on upper.run_tag = met.run_tag
        and upper.model_id = met.model_id
        and lower.model_id = met.opponent_id

),

-- With one topic left out at a time (the jackknife), because debates on the same topic are not independent. A hundredth of a
-- point is what fits leave where nothing varies.
errors as (

    select
        run_tag, pairs.model_id, pairs.next_model_id,
        nullif(
            round(macros.jackknife_error(list(upper.rating - lower.rating), any_value(pairs.rating_gap)), 2), 0
        ) as standard_error

    from pairs
    inner join ratings.bradley_terry_without_topic as upper using (run_tag, model_id)

    inner join ratings.bradley_terry_without_topic as lower
        on pairs.run_tag = lower.run_tag
        and pairs.next_model_id = lower.model_id
        and upper.topic_id = lower.topic_id

    group by run_tag, pairs.model_id, pairs.next_model_id

),

tested as (

    select
        pairs.*,
        errors.standard_error,
        macros.student_t_p(pairs.rating_gap / errors.standard_error, pairs.count_topics - 1) as p_value

    from pairs
    left join errors using (run_tag, model_id, next_model_id)

),

steps as (

    select
        *,
        count(p_value) over (partition by run_tag) as count_tests,
        macros.holm_step(p_value, run_tag) as step

    from tested

),

-- As many topics as the test needs at the level of one of many, if gap and spread stay as they are.
needed as (

    select
        *,
        macros.holm_p(p_value, step, run_tag) as p_value_holm,
        pairs_needed(
            nullif(round(rating_gap, 6), 0) / nullif(standard_error * sqrt(count_topics), 0), 0.8, 0.05 / nullif(count_tests, 0)
        )
        - count_topics as count_more_topics

    from steps

),

final as (

    select
        run_tag, rank, model_id, next_rank, next_model_id, rating_gap, standard_error, p_value, p_value_holm,
        p_value_holm < 0.05 as is_settled,
        count_topics, count_debates,
        case when is_settled then 0 when count_more_topics is not null then greatest(count_more_topics, 1) end
            as count_more_topics,
        case
            when is_settled then 0
            when count_more_topics is not null
                then cast(ceil(count_debates * greatest(count_more_topics, 1) / count_topics) as bigint)
        end as count_more_debates,
        case
            when count_topics < 3 then 'too_few_topics'
            when count_topics > 1000 then 'too_many_topics'
            when standard_error is null then 'no_variation'
            when not is_settled and count_more_topics is null then 'no_gap'
        end as reason

    from needed

)

select * from final
order by run_tag, rank, next_rank, model_id, next_model_id
