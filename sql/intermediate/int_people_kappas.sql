-- One row per run and unit (`winner` or a dimension) that the same two people annotated: Cohen's kappa.
with

-- In pairs of two names, whose first is that which sorts first, there are two people where both never change.
pairs as materialized (

    select
        run_tag, unit, cluster_id,
        cast(rating_a as decimal(18, 6)) as a,
        cast(rating_b as decimal(18, 6)) as b

    from intermediate.int_people_pairs
    window units as (partition by run_tag, unit)
    qualify
        min(annotator_a) over units = max(annotator_a) over units
        and min(annotator_b) over units = max(annotator_b) over units

),

ratings as (

    select run_tag, unit, cluster_id, unnest([{'rating': a, 'a': 1, 'b': 0}, {'rating': b, 'a': 0, 'b': 1}]) as each
    from pairs

),

-- How often each of them gave a rating, in a cluster and in all.
counts as (

    select
        run_tag, unit, cluster_id, each.rating as rating,
        cast(sum(each.a) as bigint) as a,
        cast(sum(each.b) as bigint) as b,
        sum(sum(each.a)) over (partition by run_tag, unit, each.rating) as total_a,
        sum(sum(each.b)) over (partition by run_tag, unit, each.rating) as total_b

    from ratings
    group by run_tag, unit, cluster_id, each.rating

),

-- Pairs of equal ratings that chance would give, times the number of pairs. Without a cluster, the product A · B of two
-- totals becomes (A - a) · (B - b): it decreases by A · b + a · B - a · b.
chances as (

    select
        run_tag, unit, cluster_id,
        sum(total_a * b) as equal,
        sum(total_a * b + a * total_b - a * b) as lost_equal

    from counts
    group by run_tag, unit, cluster_id

),

cluster_sums as (

    select
        run_tag, unit, cluster_id,
        count(*) as n,
        count(case when a <> b then 1 end) as differing,
        sum(cast(a - b as decimal(19, 6)) * cast(a - b as decimal(19, 6))) as squares,
        sum(a) as a,
        sum(b) as b,
        sum(cast(a as decimal(19, 6)) * a + cast(b as decimal(19, 6)) * b) as own_squares

    from pairs
    group by run_tag, unit, cluster_id

),

totals as (

    select
        run_tag, unit,
        cast(sum(n) as double) as n,
        cast(sum(differing) as double) as differing,
        cast(sum(equal) as double) as equal,
        cast(sum(squares) as double) as squares,
        cast(sum(a) as double) as a,
        cast(sum(b) as double) as b,
        cast(sum(own_squares) as double) as own_squares,
        list(
            {
                'n': n,
                'differing': differing,
                'lost_equal': cast(lost_equal as double),
                'squares': cast(squares as double),
                'a': cast(a as double),
                'b': cast(b as double),
                'own_squares': cast(own_squares as double)
            }
        ) as clusters

    from cluster_sums
    inner join chances using (run_tag, unit, cluster_id)
    group by run_tag, unit

),

-- Without weights a difference counts 1, with quadratic ones its square; and the same without each cluster in turn.
kappas as (

    select
        run_tag, unit, len(clusters) as count_clusters,
        macros.kappa_from_distances(n, differing, n * n - equal) as kappa,
        list_transform(
            clusters,
            lambda one:
                macros.kappa_from_distances(
                    n - one.n, differing - one.differing, pow(n - one.n, 2) - (equal - one.lost_equal)
                )
        ) as left_out,
        macros.kappa_from_distances(n, squares, n * own_squares - 2 * a * b) as kappa_quadratic,
        list_transform(
            clusters,
            lambda one:
                macros.kappa_from_distances(
                    n - one.n,
                    squares - one.squares,
                    (n - one.n) * (own_squares - one.own_squares) - 2 * (a - one.a) * (b - one.b)
                )
        ) as left_out_quadratic

    from totals

),

final as (

    select
        kappas.run_tag, kappas.unit, kappas.kappa,
        macros.t_half_width(macros.jackknife_error(kappas.left_out, kappas.kappa), t_quantiles.t_95) as half_width,
        kappas.kappa_quadratic,
        macros.t_half_width(macros.jackknife_error(kappas.left_out_quadratic, kappas.kappa_quadratic), t_quantiles.t_95)
            as half_width_quadratic

    from kappas
    left join intermediate.int_t_quantiles as t_quantiles on kappas.count_clusters - 1 = t_quantiles.df

)

select * from final
