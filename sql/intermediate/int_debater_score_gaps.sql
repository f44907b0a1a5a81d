-- One row per pair of debaters with a scored debate against each other: the mean difference between their scores.
with

-- The lead of pro by debate, and then the lead of the first of the two debaters by topic (or other cluster). Sums are
-- decimals, because a sum of floats depends on the order of the rows.
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

cluster_gaps as (

    select
        games.run_tag, clusters.cluster_unit, clusters.cluster_id,
        any_value(games.topic_id) as topic_id,
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
    inner join intermediate.int_clusters as clusters using (run_tag, debate_id)
    group by all

),

mean_gaps as (

    select
        run_tag, model_a, model_b, cluster_unit,
        cast(sum(count_debates) as bigint) as count_debates,
        count(distinct topic_id) as count_topics,
        count(*) as count_clusters,
        count(case when gap > 0 then 1 end) as count_above,
        count(case when gap < 0 then 1 end) as count_below,
        cast(sum(cast(gap as decimal(38, 12))) as double) / sum(count_debates) as mean_gap

    from cluster_gaps
    group by run_tag, model_a, model_b, cluster_unit

),

errors as (

    select
        run_tag, model_a, model_b, mean_gaps.cluster_unit, mean_gaps.count_debates, mean_gaps.count_topics,
        mean_gaps.count_clusters, mean_gaps.count_above, mean_gaps.count_below, mean_gaps.mean_gap,
        -- Divided before they are squared: the square of a sum overflows in a very large run.
        macros.cluster_error(
            cast(
                sum(
                    cast(
                        power(
                            (cluster_gaps.gap - cluster_gaps.count_debates * mean_gaps.mean_gap)
                            / mean_gaps.count_debates,
                            2
                        ) as decimal(38, 22)
                    )
                ) as double
            ),
            mean_gaps.count_clusters,
            1
        ) as standard_error

    from mean_gaps
    inner join cluster_gaps using (run_tag, model_a, model_b)
    group by
        run_tag, model_a, model_b, mean_gaps.cluster_unit, mean_gaps.count_debates, mean_gaps.count_topics,
        mean_gaps.count_clusters, mean_gaps.count_above, mean_gaps.count_below, mean_gaps.mean_gap

),

tested as (

    select
        errors.*,
        macros.t_half_width(nullif(errors.standard_error, 0), t_quantiles.t_95) as half_width,
        macros.difference_p(
            errors.mean_gap,
            errors.standard_error,
            errors.count_clusters,
            errors.count_above,
            errors.count_below,
            false
        ) as p_value

    from errors
    left join intermediate.int_t_quantiles as t_quantiles on errors.count_clusters - 1 = t_quantiles.df

),

final as (

    select
        run_tag, model_a, model_b, cluster_unit, count_debates, count_topics, count_clusters, mean_gap, standard_error,
        mean_gap - half_width as ci_low,
        mean_gap + half_width as ci_high,
        p_value,
        macros.reason_of(half_width is null, count_debates, mean_gap, count_clusters, cluster_unit) as reason

    from tested

)

select * from final
