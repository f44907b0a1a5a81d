-- One row per kind of bias and judge with a valid verdict in a decided debate.
with

cluster_sums as materialized (

    select * from intermediate.int_judge_bias_sums as judge_bias_sums

),

totals as (

    select
        run_tag, judge_id, bias, measure, cluster_unit,
        cast(case when measure = 'rate' then 0.5 else 0 end as double) as neutral,
        cast(sum(count_debates) as bigint) as count_debates,
        cast(sum(n) as bigint) as n,
        sum(x) as x,
        sum(y) as y,
        sum(xx) as xx,
        sum(xy) as xy,
        sum(yy) as yy

    from cluster_sums
    group by run_tag, judge_id, bias, measure, cluster_unit

),

wholes as materialized (

    select
        *,
        macros.measure_from_sums(measure, n, x, y, xx, xy, yy) as value,
        cast(x as double) / nullif(n, 0) as mean_x,
        cast(y as double) / nullif(n, 0) as mean_y

    from totals

),

left_out as (

    select
        wholes.run_tag, wholes.judge_id, wholes.bias, wholes.value,
        cluster_sums.count_debates = 1 and cluster_sums.y in (0, 0.5 * cluster_sums.n, cluster_sums.n) as is_whole,
        -- What it adds to the value: its deviation from the neutral one, or its part of the covariance.
        case
            when wholes.measure in ('rate', 'mean') then cluster_sums.y - wholes.neutral * cluster_sums.n
            else
                cast(cluster_sums.xy as double)
                - wholes.mean_x * cast(cluster_sums.y as double)
                - wholes.mean_y * cast(cluster_sums.x as double)
                + wholes.mean_x * wholes.mean_y * cluster_sums.n
        end as pull,
        macros.measure_from_sums(
            wholes.measure,
            wholes.n - cluster_sums.n,
            wholes.x - cluster_sums.x,
            wholes.y - cluster_sums.y,
            wholes.xx - cluster_sums.xx,
            wholes.xy - cluster_sums.xy,
            wholes.yy - cluster_sums.yy
        ) as value_without

    from wholes
    inner join cluster_sums using (run_tag, judge_id, bias)
    where cluster_sums.n > 0

),

-- The value with one topic left out at a time (the jackknife), because debates on the same topic are not independent.
errors as (

    select
        run_tag, judge_id, bias,
        count(*) as count_clusters,
        count(value_without) = count(*) as is_defined,
        count(case when is_whole then 1 end) = count(*) as is_exact,
        count(case when pull > 0.000000001 then 1 end) as count_above,
        count(case when pull < -0.000000001 then 1 end) as count_below,
        macros.jackknife_error(value_without, value) as standard_error

    from left_out
    group by run_tag, judge_id, bias

),

tested as (

    select
        wholes.*,
        coalesce(errors.count_clusters, 0) as count_clusters,
        macros.t_half_width(errors.standard_error, of_clusters.t_95) as half_width,
        macros.effective_count(
            wholes.value,
            wholes.count_debates,
            errors.count_clusters,
            errors.standard_error,
            of_debates.t_95,
            of_clusters.t_95
        ) as effective_n,
        macros.difference_p(
            case when errors.is_defined or errors.is_exact then wholes.value - wholes.neutral end,
            errors.standard_error,
            errors.count_clusters,
            errors.count_above,
            errors.count_below,
            wholes.measure = 'rate' and errors.is_exact
        ) as p_value

    from wholes
    left join errors using (run_tag, judge_id, bias)
    left join intermediate.int_t_quantiles as of_debates on wholes.count_debates - 1 = of_debates.df
    left join intermediate.int_t_quantiles as of_clusters on errors.count_clusters - 1 = of_clusters.df

),

final as (

    select
        run_tag, judge_id, bias, measure, value,
        case measure
            when 'rate' then macros.wilson_low(value * effective_n, effective_n)
            when 'correlation' then macros.at_least(value - half_width, -1)
            else value - half_width
        end as ci_low,
        case measure
            when 'rate' then macros.wilson_high(value * effective_n, effective_n)
            when 'correlation' then macros.at_most(value + half_width, 1)
            else value + half_width
        end as ci_high,
        p_value,
        macros.reason_of(
            p_value is null or case when measure = 'rate' then effective_n else half_width end is null,
            n,
            value,
            count_clusters,
            cluster_unit
        ) as reason,
        neutral, count_debates,
        n as count_trials,
        count_clusters

    from tested

)

select * from final
