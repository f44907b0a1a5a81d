-- One row per pair of debaters that debated a topic on the same side: the difference between their win rates.
with

-- Points per game on one topic and side, against all opponents, where both debaters spoke on that side.
topic_gaps as (

    select
        one.run_tag, one.topic_id, one.model_id as model_a, two.model_id as model_b,
        cast(
            avg((one.wins + 0.5 * one.ties) / one.games - (two.wins + 0.5 * two.ties) / two.games) as decimal(18, 9)
        ) as gap

    from marts.debater_topics as one

    inner join marts.debater_topics as two
        on one.run_tag = two.run_tag
        and one.topic_id = two.topic_id
        and one.side = two.side
        and one.model_id < two.model_id

    group by one.run_tag, one.topic_id, one.model_id, two.model_id

),

mean_gaps as (

    select
        run_tag, model_a, model_b,
        count(*) as count_topics,
        count(case when gap > 0 then 1 end) as count_above,
        count(case when gap < 0 then 1 end) as count_below,
        cast(sum(gap) as double) / count(*) as mean_gap,
        -- Rounded, because equal gaps have a spread of 0, and floats give slightly more.
        case when count(*) > 1 then
            sqrt(
                round(
                    cast(sum(gap * gap) as double) - power(cast(sum(gap) as double), 2) / count(*), 12
                ) / (count(*) - 1) / count(*)
            )
        end as standard_error

    from topic_gaps
    group by run_tag, model_a, model_b

),

tested as (

    select
        mean_gaps.*,
        macros.t_half_width(nullif(mean_gaps.standard_error, 0), t_quantiles.t_95) as half_width,
        macros.difference_p(
            mean_gaps.mean_gap,
            mean_gaps.standard_error,
            mean_gaps.count_topics,
            mean_gaps.count_above,
            mean_gaps.count_below,
            false
        ) as p_value

    from mean_gaps
    left join intermediate.int_t_quantiles as t_quantiles on mean_gaps.count_topics - 1 = t_quantiles.df

),

final as (

    select
        run_tag, model_a, model_b, count_topics, mean_gap, standard_error,
        -- A difference of rates is never beyond these bounds, so the interval loses nothing that it could hold.
        macros.at_least(mean_gap - half_width, -1) as ci_low,
        macros.at_most(mean_gap + half_width, 1) as ci_high,
        p_value,
        macros.reason_of(half_width is null, count_topics, mean_gap, count_topics, 'topic') as reason

    from tested

)

select * from final
