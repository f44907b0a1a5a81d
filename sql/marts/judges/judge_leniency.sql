-- One row per judge and dimension that another judge of the same debate scored as well.
with

-- Both sides together, so that who won plays no part.
scores as (

    select
        verdict_scores.run_tag,
        verdict_scores.debate_id,
        clusters.cluster_id,
        verdict_scores.judge_id,
        verdict_scores.dimension,
        verdict_scores.pro_score + verdict_scores.con_score as score

    from marts.verdict_scores

    inner join marts.judging_clusters as clusters
        on verdict_scores.run_tag = clusters.run_tag
        and verdict_scores.debate_id = clusters.debate_id

),

panels as (

    select
        run_tag, debate_id, dimension,
        count(*) as count_scores,
        sum(score) as score

    from scores
    group by run_tag, debate_id, dimension

),

-- Exact to nine decimals, so that sums do not depend on the order of rows.
cluster_sums as materialized (

    select
        scores.run_tag, scores.judge_id, scores.dimension, scores.cluster_id,
        count(*) as n,
        sum(
            cast(
                (scores.score - cast(panels.score - scores.score as double) / (panels.count_scores - 1)) / 2
                as decimal(18, 9)
            )
        ) as y

    from scores

    inner join panels
        on scores.run_tag = panels.run_tag
        and scores.debate_id = panels.debate_id
        and scores.dimension = panels.dimension

    where panels.count_scores > 1
    group by scores.run_tag, scores.judge_id, scores.dimension, scores.cluster_id

),

totals as materialized (

    select
        run_tag, judge_id, dimension,
        cast(sum(n) as bigint) as n,
        sum(y) as y

    from cluster_sums
    group by run_tag, judge_id, dimension

),

-- The mean without one topic at a time (the jackknife), which allows for debates on a topic being alike.
spreads as (

    select
        totals.run_tag, totals.judge_id, totals.dimension,
        count(*) as count_clusters,
        -- Rounded before they are added, so that the sum does not depend on the order of rows.
        sum(
            cast(
                pow(
                    cast(totals.y - cluster_sums.y as double) / nullif(totals.n - cluster_sums.n, 0)
                    - cast(totals.y as double) / totals.n,
                    2
                ) as decimal(38, 24)
            )
        ) as squares

    from totals

    inner join cluster_sums
        on totals.run_tag = cluster_sums.run_tag
        and totals.judge_id = cluster_sums.judge_id
        and totals.dimension = cluster_sums.dimension

    group by totals.run_tag, totals.judge_id, totals.dimension

),

half_widths as (

    select
        spreads.run_tag, spreads.judge_id, spreads.dimension, spreads.count_clusters,
        case
            when spreads.count_clusters > 1 then
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
        totals.run_tag, totals.judge_id, totals.dimension,
        cast(totals.y as double) / totals.n as leniency,
        cast(totals.y as double) / totals.n - half_widths.half_width as ci_low,
        cast(totals.y as double) / totals.n + half_widths.half_width as ci_high,
        totals.n as count_debates,
        half_widths.count_clusters

    from totals

    inner join half_widths
        on totals.run_tag = half_widths.run_tag
        and totals.judge_id = half_widths.judge_id
        and totals.dimension = half_widths.dimension

)

select * from final
