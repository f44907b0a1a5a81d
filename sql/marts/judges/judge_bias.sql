-- One row per kind of bias and judge with a valid verdict in a decided debate.
with

cluster_sums as materialized (

    select * from marts.judge_bias_sums

),

totals as (

    select
        run_tag, judge_id, bias, measure,
        cast(sum(n) as bigint) as n,
        sum(x) as x,
        sum(y) as y,
        sum(xx) as xx,
        sum(xy) as xy,
        sum(yy) as yy

    from cluster_sums
    group by run_tag, judge_id, bias, measure

),

wholes as materialized (

    select
        *,
        macros.measure_from_sums(measure, n, x, y, xx, xy, yy) as value

    from totals

),

-- The value with one topic left out at a time (the jackknife), because debates on the same topic are not independent.
errors as (

    select
        wholes.run_tag, wholes.judge_id, wholes.bias,
        count(*) as count_clusters,
        macros.jackknife_error(
            macros.measure_from_sums(
                wholes.measure,
                wholes.n - cluster_sums.n,
                wholes.x - cluster_sums.x,
                wholes.y - cluster_sums.y,
                wholes.xx - cluster_sums.xx,
                wholes.xy - cluster_sums.xy,
                wholes.yy - cluster_sums.yy
            ),
            wholes.value
        ) as standard_error

    from wholes
    inner join cluster_sums using (run_tag, judge_id, bias)
    where cluster_sums.n > 0
    group by wholes.run_tag, wholes.judge_id, wholes.bias

),

half_widths as (

    select
        errors.run_tag, errors.judge_id, errors.bias, errors.count_clusters,
        macros.t_half_width(errors.standard_error, t_quantiles.t_95) as half_width

    from errors
    left join intermediate.int_t_quantiles as t_quantiles on errors.count_clusters - 1 = t_quantiles.df

),

final as (

    select
        run_tag, judge_id, bias, measure, value,
        case measure
            when 'rate' then macros.wilson_low(y, n)
            when 'correlation' then macros.at_least(value - half_width, -1)
            else value - half_width
        end as ci_low,
        case measure
            when 'rate' then macros.wilson_high(y, n)
            when 'correlation' then macros.at_most(value + half_width, 1)
            else value + half_width
        end as ci_high,
        case when measure = 'rate' then macros.sign_test_p(cast(y as bigint), n - cast(y as bigint)) end as p_value,
        cast(case when measure = 'rate' then 0.5 else 0 end as double) as neutral,
        n as count_observations,
        case when measure <> 'rate' then count_clusters end as count_clusters

    from wholes
    left join half_widths using (run_tag, judge_id, bias)

)

select * from final
