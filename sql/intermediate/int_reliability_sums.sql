-- One row per kind of raters, run, unit (`winner` or a dimension), choice of panels, level and cluster of debates.
with

rating_patterns as materialized (

    select
        'judges' as raters,
        *,
        len(ratings) as panel_size

    from intermediate.int_rating_patterns

    union all

    select
        'people' as raters,
        *,
        len(ratings) as panel_size

    from intermediate.int_people_patterns

),

panel_sizes as (

    select
        raters, run_tag, panel_size,
        row_number() over (partition by raters, run_tag order by sum(count_rated) desc, panel_size desc) as place

    from rating_patterns
    where unit in ('winner', 'winning_teams')
    group by raters, run_tag, panel_size

),

-- Some statistics need panels of equal size: they use those of the most common size.
patterns as materialized (

    select
        rating_patterns.*,
        unnest(case when unit in ('winner', 'winning_teams') and place = 1 then ['every', 'usual'] else ['every'] end) as panels

    from rating_patterns
    left join panel_sizes using (raters, run_tag, panel_size)

),

sizes as (

    select
        raters, run_tag, unit, panels, cluster_unit, cluster_id,
        cast(sum(count_rated) as bigint) as count_rated,
        cast(sum(case panels when 'usual' then count_first_of_size else count_first end) as bigint) as count_first,
        cast(sum(count_rated * panel_size) as bigint) as count_ratings

    from patterns
    group by raters, run_tag, unit, panels, cluster_unit, cluster_id

),

-- Most lists of ratings are found in many clusters, and what follows from a list alone is computed once.
lists as (

    select
        raters, run_tag, unit, ratings,
        sum(count_rated) as count_rated

    from rating_patterns
    group by raters, run_tag, unit, ratings

),

ratings as materialized (

    select
        *,
        unnest(ratings) as rating

    from lists

),

-- Twice the mean rank of equal ratings, which is a whole number.
ranks as (

    select
        raters, run_tag, unit, rating,
        2 * sum(sum(count_rated)) over (partition by raters, run_tag, unit order by rating) - sum(count_rated) as twice_rank,
        sum(sum(count_rated)) over (partition by raters, run_tag, unit) as n,
        max(case when unit not in ('winner', 'winning_teams') then abs(rating) end) over (partition by raters, run_tag, unit) as largest_score

    from ratings
    group by raters, run_tag, unit, rating

),

-- Two ratings differ by the squared distance of their points: in value, in rank, or with a coordinate per category.
points as materialized (

    select
        raters, run_tag, unit, rating,
        unnest([
            {'level': 'interval', 'coordinate': 'value', 'x': macros.scaled(rating, n, largest_score)},
            {
                'level': 'ordinal',
                'coordinate': 'rank',
                'x': case when unit <> 'winning_teams' then macros.scaled(twice_rank - n, n, n) end
            },
            {
                'level': 'nominal',
                'coordinate': cast(rating as varchar),
                'x': case when unit in ('winner', 'winning_teams') then 1 end
            }
        ]) as point

    from ranks

),

list_sums as (

    select
        raters, run_tag, unit, ratings,
        point.level as level,
        point.coordinate as coordinate,
        sum(point.x) as x,
        sum(cast(point.x as decimal(38, 6)) * point.x) as xx

    from ratings
    inner join points using (raters, run_tag, unit, rating)
    where point.x is not null
    group by raters, run_tag, unit, ratings, point.level, point.coordinate

),

distances as materialized (

    select
        *,
        len(ratings) * xx - x * x as squares

    from list_sums

),

-- Decimals, so that sums do not depend on the order of rows.
coordinates as materialized (

    select
        raters, run_tag, unit, patterns.panels, distances.level, distances.coordinate, patterns.cluster_id,
        sum(patterns.count_rated * distances.x) as x,
        sum(patterns.count_rated * distances.xx) as xx,
        sum(
            cast(
                cast(patterns.count_rated * distances.squares as double) / (patterns.panel_size - 1) as decimal(38, 12)
            )
        ) as within_panels

    from patterns
    inner join distances using (raters, run_tag, unit, ratings)
    where patterns.panels = 'every' or distances.level = 'nominal'
    group by
        raters, run_tag, unit, patterns.panels, distances.level, distances.coordinate, patterns.cluster_id

),

totals as (

    select
        raters, run_tag, unit, panels, level, coordinate,
        sum(x) as x,
        count(*) over (partition by raters, run_tag, unit, panels, level) as count_coordinates

    from coordinates
    group by raters, run_tag, unit, panels, level, coordinate

),

-- Without a cluster, the square of a total X becomes that of X - x: it decreases by (2 X - x) x.
final as (

    select
        raters, run_tag, unit, panels, level, sizes.cluster_unit, cluster_id, sizes.count_rated, sizes.count_first,
        sizes.count_ratings, totals.count_coordinates,
        sum(coordinates.within_panels) as within_panels,
        sum(coordinates.xx) as xx,
        sum(totals.x * coordinates.x) as squares,
        sum((2 * totals.x - coordinates.x) * coordinates.x) as lost_squares

    from coordinates
    inner join totals using (raters, run_tag, unit, panels, level, coordinate)
    inner join sizes using (raters, run_tag, unit, panels, cluster_id)
    group by
        raters, run_tag, unit, panels, level, sizes.cluster_unit, cluster_id, sizes.count_rated, sizes.count_first,
        sizes.count_ratings, totals.count_coordinates

)

select * from final
