-- One row per kind of raters, run, unit (`winner` or a dimension), statistic and level.
with

totals as (

    select
        raters, run_tag, unit, panels, level, cluster_unit,
        max(count_coordinates) as count_coordinates,
        cast(sum(count_rated) as bigint) as count_rated,
        cast(sum(count_first) as bigint) as count_first,
        cast(sum(count_ratings) as bigint) as n,
        sum(within_panels) as within_panels,
        sum(xx) as xx,
        sum(squares) as squares,
        list(
            {
                'count_rated': count_rated,
                'count_first': count_first,
                'count_ratings': count_ratings,
                'within_panels': within_panels,
                'xx': xx,
                'lost_squares': lost_squares
            }
        ) as clusters

    from intermediate.int_reliability_sums
    group by raters, run_tag, unit, panels, level, cluster_unit

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

-- The value with one topic left out at a time (the jackknife), because debates on the same topic are not independent.
intervals as (

    select
        wholes.*,
        macros.t_half_width(
            macros.jackknife_error(
                list_transform(
                    wholes.clusters,
                    lambda one:
                        macros.agreement_from_sums(
                            wholes.statistic,
                            wholes.n - one.count_ratings,
                            wholes.within_panels - one.within_panels,
                            (wholes.n - one.count_ratings) * (wholes.xx - one.xx) - (wholes.squares - one.lost_squares),
                            wholes.count_coordinates,
                            cast(wholes.count_rated - one.count_rated as double)
                            / nullif(wholes.count_first - one.count_first, 0)
                        )
                ),
                wholes.value
            ),
            t_quantiles.t_95
        ) as half_width

    from wholes
    left join intermediate.int_t_quantiles as t_quantiles on len(wholes.clusters) - 1 = t_quantiles.df

),

final as (

    select
        raters, run_tag, unit, statistic, level, value,
        value - half_width as ci_low,
        macros.at_most(value + half_width, 1) as ci_high,
        macros.reason_of(half_width is null, n, value, len(clusters), cluster_unit) as reason,
        case when unit in ('winner', 'winning_teams') then count_first else count_first // 2 end as count_debates,
        case when unit in ('winner', 'winning_teams') then count_rated else count_rated // 2 end as count_trials,
        n as count_ratings,
        len(clusters) as count_clusters

    from intervals

)

select * from final
