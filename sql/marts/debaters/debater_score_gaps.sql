-- One row per pair of debaters with a scored debate against each other: the mean difference between their scores.
with

-- The lead of pro by debate, and then the lead of the first of the two debaters by topic. Sums are decimals, because
-- a sum of floats depends on the order of the rows.
verdict_gaps as (

    select
        run_tag, debate_id,
        cast(
            sum(
                cast(
                    cast(pro_total as double) / count_dimensions - cast(con_total as double) / count_dimensions
                    as decimal(38, 12)
                )
            ) as double
        ) / count(*) as pro_gap

    from intermediate.int_verdict_totals
    where is_valid and pro_total is not null and con_total is not null
    group by run_tag, debate_id

),

topic_gaps as (

    select
        games.run_tag, games.topic_id,
        least(games.pro_model_id, games.con_model_id) as model_a,
        greatest(games.pro_model_id, games.con_model_id) as model_b,
        count(*) as count_debates,
        cast(
            sum(
                cast(verdict_gaps.pro_gap as decimal(38, 12))
                * case when games.pro_model_id < games.con_model_id then 1 else -1 end
            ) as double
        ) as gap

    from marts.games
    inner join verdict_gaps using (run_tag, debate_id)
    group by all

),

mean_gaps as (

    select
        run_tag, model_a, model_b,
        cast(sum(count_debates) as bigint) as count_debates,
        count(*) as count_topics,
        cast(sum(cast(gap as decimal(38, 12))) as double) / sum(count_debates) as mean_gap

    from topic_gaps
    group by run_tag, model_a, model_b

),

final as (

    select
        run_tag, model_a, model_b, mean_gaps.count_debates, mean_gaps.count_topics, mean_gaps.mean_gap,
        -- Divided before they are squared: the square of a sum overflows in a very large run.
        macros.cluster_error(
            cast(
                sum(
                    cast(
                        power(
                            (topic_gaps.gap - topic_gaps.count_debates * mean_gaps.mean_gap)
                            / mean_gaps.count_debates,
                            2
                        ) as decimal(38, 22)
                    )
                ) as double
            ),
            mean_gaps.count_topics,
            1
        ) as standard_error

    from mean_gaps
    inner join topic_gaps using (run_tag, model_a, model_b)
    group by run_tag, model_a, model_b, mean_gaps.count_debates, mean_gaps.count_topics, mean_gaps.mean_gap

)

select * from final
