-- One row per debater with a scored, metered debate: do its longer speeches score better?
with

sides as materialized (

    select * from intermediate.int_debater_tokens as debater_tokens

),

-- Rounded, because the last digits of floats, and the sign of 0, depend on the order of the rows.
correlations as (

    select
        run_tag, model_id,
        count(*) as count_debates,
        cast(sum(tokens) as double) / count(*) as mean_tokens,
        case
            when stddev_pop(tokens) > 0 and stddev_pop(score) > 1e-9
                then cast(cast(corr(score, tokens) as decimal(10, 9)) as double)
        end as correlation,
        case
            when stddev_pop(token_gap) > 0 and stddev_pop(score_gap) > 1e-9
                then cast(cast(corr(score_gap, token_gap) as decimal(10, 9)) as double)
        end as gap_correlation,
        case
            when stddev_pop(token_gap) > 0 then cast(cast(regr_slope(score_gap, token_gap) * 100 as decimal(38, 9)) as double)
        end as gap_per_100_tokens

    from sides
    group by run_tag, model_id

),

-- In a unit in which sums of squares are exact: a correlation does not depend on the unit.
scaled_sides as (

    select
        run_tag, debate_id, model_id, cluster_unit, cluster_id, score_gap,
        macros.scaled(token_gap, count(*) over debater, max(abs(token_gap)) over debater) as token_gap

    from sides
    window debater as (partition by run_tag, model_id)

),

cluster_sums as (

    select
        run_tag, model_id, cluster_unit, cluster_id,
        macros.sums_of(token_gap, score_gap) as sums

    from scaled_sides
    group by run_tag, model_id, cluster_unit, cluster_id

),

totals as (

    select
        run_tag, model_id, cluster_unit,
        sum(sums.n) as n,
        sum(sums.x) as x,
        sum(sums.y) as y,
        sum(sums.xx) as xx,
        sum(sums.xy) as xy,
        sum(sums.yy) as yy,
        list(sums) as clusters

    from cluster_sums
    group by run_tag, model_id, cluster_unit

),

wholes as (

    select
        *,
        len(clusters) as count_clusters,
        macros.measure_from_sums('correlation', n, x, y, xx, xy, yy) as correlation

    from totals

),

-- The correlation with one topic left out at a time (the jackknife): debates on a topic are not independent.
errors as (

    select
        wholes.run_tag, wholes.model_id, wholes.cluster_unit, wholes.count_clusters,
        macros.t_half_width(
            macros.jackknife_error(
                list_transform(
                    wholes.clusters,
                    lambda one:
                        macros.measure_from_sums(
                            'correlation', wholes.n - one.n, wholes.x - one.x, wholes.y - one.y, wholes.xx - one.xx,
                            wholes.xy - one.xy, wholes.yy - one.yy
                        )
                ),
                wholes.correlation
            ),
            t_quantiles.t_95
        ) as half_width

    from wholes
    left join intermediate.int_t_quantiles as t_quantiles on wholes.count_clusters - 1 = t_quantiles.df

),

-- If every debate is a cluster, the correlation has Fisher's interval.
intervals as (

    select
        correlations.*,
        errors.cluster_unit, errors.count_clusters,
        case
            when errors.count_clusters = correlations.count_debates
                then macros.correlation_bound(gap_correlation, count_debates, -macros.normal_95())
            else macros.at_least(correlations.gap_correlation - errors.half_width, -1)
        end as gap_correlation_ci_low,
        case
            when errors.count_clusters = correlations.count_debates
                then macros.correlation_bound(gap_correlation, count_debates, macros.normal_95())
            else macros.at_most(correlations.gap_correlation + errors.half_width, 1)
        end as gap_correlation_ci_high

    from correlations
    inner join errors using (run_tag, model_id)

),

final as (

    select
        run_tag, model_id, count_debates, mean_tokens, correlation, gap_correlation, gap_correlation_ci_low,
        gap_correlation_ci_high,
        macros.reason_of(gap_correlation_ci_low is null, count_debates, gap_correlation, count_clusters, cluster_unit)
            as gap_correlation_reason,
        gap_per_100_tokens, count_clusters

    from intervals

)

select * from final
