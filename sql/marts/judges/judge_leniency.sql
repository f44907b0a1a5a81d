-- One row per judge and dimension that another judge of the same debate scored as well.
with

-- Both sides together, so that the winner does not matter.
scores as (

    select
        verdict_scores.run_tag, verdict_scores.debate_id, verdict_scores.judge_id, verdict_scores.dimension,
        clusters.source_debate_id, clusters.cluster_unit, clusters.cluster_id,
        verdict_scores.pro_score + verdict_scores.con_score as score

    from marts.verdict_scores
    inner join marts.panel_winners using (run_tag, debate_id)
    inner join intermediate.int_clusters as clusters using (run_tag, debate_id)
    where panel_winners.winner <> 'no_decision'

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
cluster_sums as (

    select
        scores.run_tag, scores.judge_id, scores.dimension, scores.cluster_unit, scores.cluster_id,
        count(distinct scores.source_debate_id) as count_debates,
        count(*) as n,
        sum(
            cast(
                (scores.score - cast(panels.score - scores.score as double) / (panels.count_scores - 1)) / 2
                as decimal(18, 9)
            )
        ) as y

    from scores
    inner join panels using (run_tag, debate_id, dimension)
    where panels.count_scores > 1
    group by scores.run_tag, scores.judge_id, scores.dimension, scores.cluster_unit, scores.cluster_id

),

totals as (

    select
        run_tag, judge_id, dimension, cluster_unit,
        cast(sum(count_debates) as bigint) as count_debates,
        cast(sum(n) as bigint) as n,
        sum(y) as y,
        cast(sum(y) as double) / sum(n) as leniency,
        list({'n': n, 'y': y}) as clusters

    from cluster_sums
    group by run_tag, judge_id, dimension, cluster_unit

),

-- The mean with one topic left out at a time (the jackknife), because debates on the same topic are not independent.
intervals as (

    select
        totals.*,
        macros.t_half_width(
            macros.jackknife_error(
                list_transform(
                    totals.clusters,
                    lambda one: cast(totals.y - one.y as double) / nullif(totals.n - one.n, 0)
                ),
                totals.leniency
            ),
            t_quantiles.t_95
        ) as half_width

    from totals
    left join intermediate.int_t_quantiles as t_quantiles on len(totals.clusters) - 1 = t_quantiles.df

),

final as (

    select
        run_tag, judge_id, dimension, leniency,
        leniency - half_width as ci_low,
        leniency + half_width as ci_high,
        macros.reason_of(half_width is null, n, leniency, len(clusters), cluster_unit) as reason,
        count_debates,
        n as count_trials,
        len(clusters) as count_clusters

    from intervals

)

select * from final
