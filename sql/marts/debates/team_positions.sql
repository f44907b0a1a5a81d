-- One row per run and position with a rated debate of four teams: its points and how often it comes first.
with

topic_sums as (

    select
        results.run_tag, results.position, clusters.cluster_unit, clusters.cluster_id,
        count(*) as debates,
        sum(results.points) as points,
        cast(sum(cast(results.first_rate as decimal(38, 12))) as double) as first_places

    from marts.team_results as results
    inner join intermediate.int_clusters as clusters using (run_tag, debate_id)
    where results.is_rated
    group by results.run_tag, results.position, clusters.cluster_unit, clusters.cluster_id

),

sums as (

    select
        run_tag, position, cluster_unit,
        cast(sum(debates) as bigint) as count_debates,
        count(*) as count_clusters,
        sum(points) / sum(debates) as mean_points,
        cast(sum(cast(first_places as decimal(38, 12))) as double) / sum(debates) as first_rate,
        list({'n': debates, 'y': points}) as of_points,
        list({'n': debates, 'y': first_places}) as of_first

    from topic_sums
    group by run_tag, position, cluster_unit

),

intervals as (

    select
        sums.*,
        macros.t_half_width(nullif(macros.mean_error(sums.of_points, sums.mean_points), 0), of_clusters.t_95) as half_width,
        macros.effective_count(
            sums.first_rate,
            sums.count_debates,
            sums.count_clusters,
            macros.mean_error(sums.of_first, sums.first_rate),
            of_debates.t_95,
            of_clusters.t_95
        ) as effective_debates

    from sums
    left join intermediate.int_t_quantiles as of_debates on sums.count_debates - 1 = of_debates.df
    left join intermediate.int_t_quantiles as of_clusters on sums.count_clusters - 1 = of_clusters.df

),

final as (

    select
        run_tag, position, count_debates, cluster_unit, count_clusters, mean_points,
        macros.at_least(mean_points - half_width, 0) as mean_points_ci_low,
        macros.at_most(mean_points + half_width, 3) as mean_points_ci_high,
        macros.reason_of(half_width is null, count_debates, mean_points, count_clusters, cluster_unit) as mean_points_reason,
        first_rate,
        macros.wilson_low(first_rate * effective_debates, effective_debates) as first_rate_ci_low,
        macros.wilson_high(first_rate * effective_debates, effective_debates) as first_rate_ci_high,
        macros.reason_of(effective_debates is null, count_debates, first_rate, count_clusters, cluster_unit)
            as first_rate_reason

    from intervals

)

select * from final
