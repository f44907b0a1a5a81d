-- One row per run, unit (`winner` or a dimension), statistic and level.
with

cluster_sums as materialized (

    select * from intermediate.int_reliability_sums as reliability_sums

),

totals as (

    select
        run_tag, unit, panels, level, cluster_unit,
        max(count_coordinates) as count_coordinates,
        cast(sum(count_rated) as bigint) as count_rated,
        cast(sum(count_first) as bigint) as count_first,
        cast(sum(count_ratings) as bigint) as n,
        sum(within_panels) as within_panels,
        sum(xx) as xx,
        sum(squares) as squares

    from cluster_sums
    group by run_tag, unit, panels, level, cluster_unit

),

statistics as (

    select 'krippendorff_alpha' as statistic, 'every' as panels
    union all
    select 'agreement', 'every'
    union all
    select 'fleiss_kappa', 'usual'
    union all
    select 'gwet_ac1', 'usual'

),

wholes as materialized (

    select
        totals.*,
        statistics.statistic,
        macros.agreement_from_sums(
            statistics.statistic,
            totals.n,
            totals.within_panels,
            totals.n * totals.xx - totals.squares,
            totals.count_coordinates,
            cast(totals.count_rated as double) / nullif(totals.count_first, 0)
        ) as value

    from totals
    inner join statistics using (panels)
    where statistics.statistic <> 'agreement' or totals.level = 'nominal'

),

left_out as (

    select
        wholes.run_tag, wholes.unit, wholes.statistic, wholes.level, wholes.value,
        macros.agreement_from_sums(
            wholes.statistic,
            wholes.n - cluster_sums.count_ratings,
            wholes.within_panels - cluster_sums.within_panels,
            (wholes.n - cluster_sums.count_ratings) * (wholes.xx - cluster_sums.xx)
            - (wholes.squares - cluster_sums.lost_squares),
            wholes.count_coordinates,
            cast(wholes.count_rated - cluster_sums.count_rated as double)
            / nullif(wholes.count_first - cluster_sums.count_first, 0)
        ) as value_without

    from wholes
    inner join cluster_sums using (run_tag, unit, panels, level)

),

-- The value with one topic left out at a time (the jackknife), because debates on the same topic are not independent.
errors as (

    select
        run_tag, unit, statistic, level,
        count(*) as count_clusters,
        macros.jackknife_error(value_without, value) as standard_error

    from left_out
    group by run_tag, unit, statistic, level

),

half_widths as (

    select
        errors.run_tag, errors.unit, errors.statistic, errors.level, errors.count_clusters,
        macros.t_half_width(errors.standard_error, t_quantiles.t_95) as half_width

    from errors
    left join intermediate.int_t_quantiles as t_quantiles on errors.count_clusters - 1 = t_quantiles.df

),

final as (

    select
        run_tag, unit, statistic, level, value,
        value - half_width as ci_low,
        macros.at_most(value + half_width, 1) as ci_high,
        macros.reason_of(half_width is null, n, value, count_clusters, cluster_unit) as reason,
        case when unit in ('winner', 'winning_teams') then count_first else count_first // 2 end as count_debates,
        case when unit in ('winner', 'winning_teams') then count_rated else count_rated // 2 end as count_trials,
        n as count_ratings,
        count_clusters

    from wholes
    inner join half_widths using (run_tag, unit, statistic, level)

)

select * from final
