-- One row per run, outcome (`score_gap` or `winner`) and dimension that was scored in a decided debate of two sides.
with

clusters as (

    select
        run_tag, dimension, cluster_unit, n, count_debates, whole, part,
        unnest(
            [
                {'outcome': 'score_gap', 'z': whole, 'z_part': whole_part, 'z_whole': whole_whole},
                {'outcome': 'winner', 'z': points, 'z_part': points_part, 'z_whole': points_whole}
            ]
        ) as each

    from intermediate.int_dimension_gap_sums

),

totals as (

    select
        run_tag, dimension, cluster_unit,
        each.outcome as outcome,
        cast(sum(n) as bigint) as n,
        cast(sum(count_debates) as bigint) as count_debates,
        sum(whole) as whole,
        sum(part) as part,
        sum(each.z) as z,
        sum(each.z_part) as z_part,
        sum(each.z_whole) as z_whole,
        list({'n': n, 'whole': whole, 'part': part, 'each': each}) as clusters

    from clusters
    group by run_tag, dimension, cluster_unit, each.outcome

),

-- With one topic left out at a time (the jackknife), because debates on the same topic are not independent.
wholes as (

    select
        *,
        macros.contribution_from_sums(n, z, part, whole, z_part, z_whole) as contribution,
        list_transform(
            clusters,
            lambda one:
                macros.contribution_from_sums(
                    n - one.n, z - one.each.z, part - one.part, whole - one.whole, z_part - one.each.z_part,
                    z_whole - one.each.z_whole
                )
        ) as contributions_without

    from totals

),

intervals as (

    select
        wholes.*,
        len(wholes.clusters) as count_clusters,
        macros.t_half_width(
            macros.jackknife_error(wholes.contributions_without, wholes.contribution), t_quantiles.t_95
        ) as half_width

    from wholes
    left join intermediate.int_t_quantiles as t_quantiles on len(wholes.clusters) - 1 = t_quantiles.df

),

final as (

    select
        run_tag, outcome, dimension, contribution,
        contribution - half_width as ci_low,
        contribution + half_width as ci_high,
        macros.reason_of(half_width is null, n, contribution, count_clusters, cluster_unit) as reason,
        count_debates, count_clusters

    from intervals

)

select * from final
order by run_tag, outcome, contribution desc nulls last, dimension
