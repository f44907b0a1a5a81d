-- One row per judge, format, truth, dimension (or `overall`) and rate, over the debates for which there is a value.
with

measured as (

    select
        run_tag, judge_id, format, truth, dimension, cluster_id, cluster_unit,
        unnest(
            [
                {'rate': 'completion', 'value': cast(count_predictions as double) / count_verdicts},
                {'rate': 'accuracy', 'value': accuracy},
                {'rate': 'hit', 'value': hit_rate}
            ]
        ) as each

    from marts.judge_errors

),

clusters as (

    select
        run_tag, judge_id, format, truth, dimension,
        each.rate as rate,
        cluster_id, cluster_unit,
        count(each.value) as n,
        sum(cast(each.value as decimal(38, 18))) as total

    from measured
    group by run_tag, judge_id, format, truth, dimension, each.rate, cluster_id, cluster_unit

),

totals as (

    select
        run_tag, judge_id, format, truth, dimension, rate, cluster_unit,
        cast(sum(n) as bigint) as n,
        cast(sum(total) as double) / nullif(sum(n), 0) as value,
        coalesce(list({'n': n, 'y': cast(total as double)}) filter (where n > 0), []) as clusters

    from clusters
    group by run_tag, judge_id, format, truth, dimension, rate, cluster_unit

),

counted as (

    select
        totals.*,
        macros.effective_count(
            totals.value, totals.n, len(totals.clusters), macros.mean_error(totals.clusters, totals.value), of_debates.t_95,
            of_clusters.t_95
        ) as effective_n

    from totals
    left join intermediate.int_t_quantiles as of_debates on totals.n - 1 = of_debates.df
    left join intermediate.int_t_quantiles as of_clusters on len(totals.clusters) - 1 = of_clusters.df

),

final as (

    select
        run_tag, judge_id, format, truth, dimension, rate, value,
        n as count_debates,
        len(clusters) as count_clusters,
        macros.wilson_low(value * effective_n, effective_n) as ci_low,
        macros.wilson_high(value * effective_n, effective_n) as ci_high,
        macros.reason_of(value is null or effective_n is null, n, value, len(clusters), cluster_unit) as reason

    from counted

)

select * from final
