-- One row per kind of bias (of leniency also per dimension) and judge with a valid verdict in a decided debate.
with

totals as (

    select
        run_tag, judge_id, bias, dimension, measure, cluster_unit,
        cast(case when measure = 'rate' then 0.5 else 0 end as double) as neutral,
        cast(sum(count_debates) as bigint) as count_debates,
        cast(sum(n) as bigint) as n,
        sum(x) as x,
        sum(y) as y,
        sum(xx) as xx,
        sum(xy) as xy,
        sum(yy) as yy,
        cast(sum(count_people_debates) as bigint) as count_people_debates,
        coalesce(
            list({'count_debates': count_debates, 'n': n, 'x': x, 'y': y, 'xx': xx, 'xy': xy, 'yy': yy}) filter (where n > 0),
            []
        ) as clusters

    from intermediate.int_judge_bias_sums
    group by run_tag, judge_id, bias, dimension, measure, cluster_unit

),

wholes as (

    select
        *,
        macros.measure_from_sums(measure, n, x, y, xx, xy, yy) as value,
        cast(x as double) / nullif(n, 0) as mean_x,
        cast(y as double) / nullif(n, 0) as mean_y

    from totals

),

-- What a cluster adds to the value: its deviation from the neutral one, or its part of the covariance.
pulled as (

    select
        *,
        len(clusters) as count_clusters,
        list_transform(
            clusters,
            lambda one:
                case
                    when measure in ('rate', 'mean') then one.y - neutral * one.n
                    else
                        cast(one.xy as double)
                        - mean_x * cast(one.y as double)
                        - mean_y * cast(one.x as double)
                        + mean_x * mean_y * one.n
                end
        ) as pulls,
        -- The value with one topic left out at a time (the jackknife): debates on the same topic are not independent.
        list_transform(
            clusters,
            lambda one:
                macros.measure_from_sums(
                    measure, n - one.n, x - one.x, y - one.y, xx - one.xx, xy - one.xy, yy - one.yy
                )
        ) as values_without,
        len(list_filter(clusters, lambda one: one.count_debates = 1 and one.y in (0, 0.5 * one.n, one.n))) = len(clusters)
            as is_exact

    from wholes

),

errors as (

    select
        *,
        macros.jackknife_error(values_without, value) as standard_error

    from pulled

),

tested as (

    select
        errors.*,
        macros.t_half_width(errors.standard_error, of_clusters.t_95) as half_width,
        -- Correlations and differences of shares are between -1 and 1.
        case
            when errors.measure = 'correlation'
                or errors.bias in ('side_lean', 'position', 'own_family_points', 'own_family_preference')
                then 1
        end as largest,
        macros.effective_count(
            errors.value,
            errors.count_debates,
            nullif(errors.count_clusters, 0),
            errors.standard_error,
            of_debates.t_95,
            of_clusters.t_95
        ) as effective_n,
        macros.difference_p(
            case
                when list_count(errors.values_without) = errors.count_clusters or errors.is_exact
                    then errors.value - errors.neutral
            end,
            errors.standard_error,
            errors.count_clusters,
            len(list_filter(errors.pulls, lambda pull: pull > 0.000000001)),
            len(list_filter(errors.pulls, lambda pull: pull < -0.000000001)),
            errors.measure = 'rate' and errors.is_exact
        ) as p_value

    from errors
    left join intermediate.int_t_quantiles as of_debates on errors.count_debates - 1 = of_debates.df
    left join intermediate.int_t_quantiles as of_clusters on errors.count_clusters - 1 = of_clusters.df

),

explained as (

    select
        *,
        macros.reason_of(
            p_value is null or case when measure = 'rate' then effective_n else half_width end is null,
            n,
            value,
            count_clusters,
            cluster_unit
        ) as reason

    from tested

),

final as (

    select
        run_tag, judge_id, bias, dimension, measure, value,
        case
            when measure = 'rate' then macros.wilson_low(value * effective_n, effective_n)
            else macros.at_least(value - half_width, -largest)
        end as ci_low,
        case
            when measure = 'rate' then macros.wilson_high(value * effective_n, effective_n)
            else macros.at_most(value + half_width, largest)
        end as ci_high,
        p_value,
        case
            when bias like 'own_family%' and n = 0 then
                case
                    when (run_tag, judge_id) in (select run_tag, judge_id from intermediate.int_own_family)
                        then 'no_reference'
                    else 'no_family'
                end
            else coalesce(macros.bias_reason(bias, reason), reason)
        end as reason,
        neutral, count_debates,
        n as count_trials,
        count_clusters, count_people_debates

    from explained

)

select * from final
