-- One row per judge and dimension (or `overall`) with a debate that the judge judged at least twice.
with

-- Decimals, so that sums do not depend on the order of rows.
cluster_sums as (

    select
        run_tag, judge_id, method, dimension, cluster_unit, cluster_id,
        count(*) as n,
        cast(sum(count_trials) as bigint) as count_trials,
        sum(cast(agreement_rate as decimal(38, 15))) as agreement,
        count(order_agreement_rate) as n_swapped,
        count(case when is_same_in_both_orders then 1 end) as count_same,
        sum(cast(order_agreement_rate as decimal(38, 15))) as order_agreement,
        count(score_deviation) as count_deviations,
        sum(score_deviation) as score_deviation

    from marts.repeated_judgments
    group by run_tag, judge_id, method, dimension, cluster_unit, cluster_id

),

wholes as (

    select
        run_tag, judge_id, method, dimension, cluster_unit,
        cast(sum(n) as bigint) as n,
        cast(sum(count_trials) as bigint) as count_trials,
        cast(sum(agreement) as double) / sum(n) as agreement_rate,
        cast(sum(score_deviation) as double) / nullif(sum(count_deviations), 0) as mean_score_deviation,
        list({'n': n, 'y': cast(agreement as double)}) as clusters,
        cast(sum(n_swapped) as bigint) as n_swapped,
        cast(sum(count_same) as bigint) as count_same,
        cast(sum(order_agreement) as double) / nullif(sum(n_swapped), 0) as order_agreement_rate,
        list_filter(
            list({'n': n_swapped, 'y': cast(order_agreement as double)}), lambda each: each.n > 0
        ) as swapped_clusters

    from cluster_sums
    group by run_tag, judge_id, method, dimension, cluster_unit

),

counted as (

    select
        wholes.*,
        macros.effective_count(
            wholes.agreement_rate,
            wholes.n,
            len(wholes.clusters),
            macros.mean_error(wholes.clusters, wholes.agreement_rate),
            of_debates.t_95,
            of_clusters.t_95
        ) as effective_n,
        macros.effective_count(
            wholes.order_agreement_rate,
            nullif(wholes.n_swapped, 0),
            len(wholes.swapped_clusters),
            macros.mean_error(wholes.swapped_clusters, wholes.order_agreement_rate),
            of_swapped.t_95,
            of_swapped_clusters.t_95
        ) as effective_n_swapped

    from wholes
    left join intermediate.int_t_quantiles as of_debates on wholes.n - 1 = of_debates.df
    left join intermediate.int_t_quantiles as of_clusters on len(wholes.clusters) - 1 = of_clusters.df
    left join intermediate.int_t_quantiles as of_swapped on wholes.n_swapped - 1 = of_swapped.df
    left join intermediate.int_t_quantiles as of_swapped_clusters
        on len(wholes.swapped_clusters) - 1 = of_swapped_clusters.df

),

final as (

    select
        run_tag, judge_id, method, dimension,
        n as count_debates,
        count_trials, agreement_rate,
        macros.wilson_low(agreement_rate * effective_n, effective_n) as agreement_rate_ci_low,
        macros.wilson_high(agreement_rate * effective_n, effective_n) as agreement_rate_ci_high,
        macros.reason_of(effective_n is null, n, agreement_rate, len(clusters), cluster_unit) as agreement_rate_reason,
        len(clusters) as count_clusters,
        n_swapped as count_both_orders,
        count_same as count_same_in_both_orders,
        order_agreement_rate,
        macros.wilson_low(order_agreement_rate * effective_n_swapped, effective_n_swapped)
            as order_agreement_rate_ci_low,
        macros.wilson_high(order_agreement_rate * effective_n_swapped, effective_n_swapped)
            as order_agreement_rate_ci_high,
        macros.reason_of(
            effective_n_swapped is null, n_swapped, order_agreement_rate, len(swapped_clusters), cluster_unit
        ) as order_agreement_rate_reason,
        mean_score_deviation

    from counted

)

select * from final
