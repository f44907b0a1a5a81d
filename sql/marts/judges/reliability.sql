-- One row per run, unit (`winner` or a dimension), statistic and level.
with

rating_patterns as materialized (

    select
        run_tag, unit, cluster_id, ratings,
        cast(len(ratings) as bigint) as panel_size,
        count_rated

    from marts.rating_patterns

),

panel_sizes as (

    select
        run_tag, panel_size,
        row_number() over (partition by run_tag order by sum(count_rated) desc, panel_size desc) as place

    from rating_patterns
    where unit = 'winner'
    group by run_tag, panel_size

),

-- Some statistics need panels of one size: they see those of the usual size.
patterns as materialized (

    select
        *,
        'every' as panels

    from rating_patterns

    union all

    select
        rating_patterns.*,
        'usual' as panels

    from rating_patterns
    inner join panel_sizes using (run_tag, panel_size)
    where rating_patterns.unit = 'winner' and panel_sizes.place = 1

),

ratings as materialized (

    select
        run_tag, unit, panels, cluster_id, ratings, panel_size, count_rated,
        unnest(ratings) as rating

    from patterns

),

rating_counts as (

    select
        run_tag, unit, panels, rating,
        sum(count_rated) as count_ratings

    from ratings
    group by run_tag, unit, panels, rating

),

-- Twice the mean rank, from which the rank's mean is taken, so that it is whole.
ranks as (

    select
        run_tag, unit, panels, rating,
        2 * sum(count_ratings) over (partition by run_tag, unit, panels order by rating) - count_ratings as twice_rank

    from rating_counts

),

-- The difference between two ratings is the squared distance of their points: on the scale itself, on that of ranks, or
-- for categories, which have a coordinate each.
points as (

    select
        ratings.*,
        'interval' as level,
        'value' as coordinate,
        ratings.rating as x

    from ratings
    where ratings.unit <> 'winner'

    union all

    select
        ratings.*,
        'ordinal' as level,
        'rank' as coordinate,
        cast(ranks.twice_rank as decimal(18, 6)) as x

    from ratings
    inner join ranks using (run_tag, unit, panels, rating)
    where ratings.panels = 'every'

    union all

    select
        ratings.*,
        'nominal' as level,
        cast(ratings.rating as varchar) as coordinate,
        cast(1 as decimal(18, 6)) as x

    from ratings
    where ratings.unit = 'winner'

),

pattern_sums as (

    select
        run_tag, unit, panels, level, cluster_id, coordinate, panel_size, count_rated,
        sum(x) as x,
        sum(cast(x as decimal(38, 6)) * x) as xx

    from points
    group by run_tag, unit, panels, level, cluster_id, coordinate, ratings, panel_size, count_rated

),

-- Decimals, so that sums do not depend on the order of rows.
cluster_sums as materialized (

    select
        run_tag, unit, panels, level, cluster_id, coordinate,
        sum(count_rated * x) as x,
        sum(count_rated * xx) as xx,
        sum(
            cast(
                cast(count_rated * (panel_size * xx - x * x) as double) / (panel_size - 1) as decimal(38, 12)
            )
        ) as disagreement

    from pattern_sums
    group by run_tag, unit, panels, level, cluster_id, coordinate

),

cluster_sizes as materialized (

    select
        run_tag, unit, panels, cluster_id,
        cast(sum(count_rated) as bigint) as count_rated,
        cast(sum(count_rated * panel_size) as bigint) as count_ratings

    from patterns
    group by run_tag, unit, panels, cluster_id

),

totals as materialized (

    select
        run_tag, unit, panels, level, coordinate,
        sum(x) as x,
        sum(xx) as xx,
        sum(disagreement) as disagreement

    from cluster_sums
    group by run_tag, unit, panels, level, coordinate

),

sizes as materialized (

    select
        run_tag, unit, panels,
        cast(null as varchar) as left_out,
        cast(sum(count_rated) as bigint) as count_rated,
        cast(sum(count_ratings) as bigint) as count_ratings

    from cluster_sizes
    group by run_tag, unit, panels

),

-- Everything, and everything but one cluster.
samples as (

    select * from sizes

    union all

    select
        sizes.run_tag, sizes.unit, sizes.panels,
        cluster_sizes.cluster_id as left_out,
        sizes.count_rated - cluster_sizes.count_rated as count_rated,
        sizes.count_ratings - cluster_sizes.count_ratings as count_ratings

    from sizes
    inner join cluster_sizes using (run_tag, unit, panels)

),

coordinates as (

    select
        samples.run_tag, samples.unit, samples.panels, samples.left_out, samples.count_ratings, totals.level,
        totals.x - coalesce(cluster_sums.x, 0) as x,
        totals.xx - coalesce(cluster_sums.xx, 0) as xx,
        totals.disagreement - coalesce(cluster_sums.disagreement, 0) as disagreement

    from samples
    inner join totals using (run_tag, unit, panels)

    left join cluster_sums
        on samples.run_tag = cluster_sums.run_tag
        and samples.unit = cluster_sums.unit
        and samples.panels = cluster_sums.panels
        and samples.left_out = cluster_sums.cluster_id
        and totals.level = cluster_sums.level
        and totals.coordinate = cluster_sums.coordinate

),

-- `disagreement` within panels, and what it would be among all ratings if they were dealt out at random.
disagreements as (

    select
        run_tag, unit, panels, level, left_out,
        count_ratings as n,
        count(*) as count_coordinates,
        cast(sum(disagreement) as double) as within_panels,
        cast(sum(count_ratings * xx - x * x) as double) as among_all

    from coordinates
    group by run_tag, unit, panels, level, left_out, count_ratings

),

statistics as (

    select 'every' as panels, 'krippendorff_alpha' as statistic
    union all
    select 'every', 'agreement'
    union all
    select 'usual', 'fleiss_kappa'
    union all
    select 'usual', 'gwet_ac1'

),

estimates as materialized (

    select
        disagreements.run_tag,
        disagreements.unit,
        disagreements.panels,
        statistics.statistic,
        disagreements.level,
        disagreements.left_out,
        case statistics.statistic
            when 'krippendorff_alpha' then
                1 - (disagreements.n - 1) * disagreements.within_panels / nullif(disagreements.among_all, 0)
            when 'fleiss_kappa' then
                1 - disagreements.n * disagreements.within_panels / nullif(disagreements.among_all, 0)
            when 'agreement' then
                1 - disagreements.within_panels / nullif(disagreements.n, 0)
            when 'gwet_ac1' then
                1 - disagreements.within_panels / nullif(disagreements.n, 0)
                / (
                    1
                    - disagreements.among_all / nullif(pow(disagreements.n, 2), 0)
                    / nullif(disagreements.count_coordinates - 1, 0)
                )
        end as value

    from disagreements
    inner join statistics using (panels)
    where statistics.statistic <> 'agreement' or disagreements.level = 'nominal'

),

wholes as (

    select * from estimates where left_out is null

),

spreads as (

    select
        estimates.run_tag, estimates.unit, estimates.statistic, estimates.level,
        count(*) as count_clusters,
        count(estimates.value) as count_defined,
        -- Rounded before they are added, so that the sum does not depend on the order of rows.
        sum(cast(pow(estimates.value - wholes.value, 2) as decimal(38, 24))) as squares

    from estimates
    inner join wholes using (run_tag, unit, statistic, level)
    where estimates.left_out is not null
    group by estimates.run_tag, estimates.unit, estimates.statistic, estimates.level

),

half_widths as (

    select
        spreads.run_tag, spreads.unit, spreads.statistic, spreads.level, spreads.count_clusters,
        case
            when spreads.count_clusters > 1 and spreads.count_clusters = spreads.count_defined then
                coalesce(t_quantiles.t_95, 1.959963984540054)
                * sqrt(
                    nullif(cast(spreads.squares as double), 0) * (spreads.count_clusters - 1) / spreads.count_clusters
                )
        end as half_width

    from spreads
    left join intermediate.int_t_quantiles as t_quantiles on spreads.count_clusters - 1 = t_quantiles.df

),

final as (

    select
        wholes.run_tag, wholes.unit, wholes.statistic, wholes.level, wholes.value,
        wholes.value - half_widths.half_width as ci_low,
        case
            when wholes.value + half_widths.half_width > 1 then 1
            else wholes.value + half_widths.half_width
        end as ci_high,
        case when wholes.unit = 'winner' then sizes.count_rated else sizes.count_rated // 2 end as count_debates,
        sizes.count_ratings,
        half_widths.count_clusters

    from wholes
    inner join half_widths using (run_tag, unit, statistic, level)
    inner join sizes using (run_tag, unit, panels)

)

select * from final
