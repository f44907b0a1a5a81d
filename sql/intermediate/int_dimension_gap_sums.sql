-- One row per run, dimension and cluster with a decided debate of two sides: sums for covariances of the score gaps.
with

units as (

    select
        run_tag,
        cast(max(largest_gap) as double) as largest

    from intermediate.int_debate_means
    group by run_tag

),

-- Gaps are in units of the run's largest, and rounded: a sum of floats would depend on the order of the rows. Points have
-- the same type, because both are outcomes.
debates as materialized (

    select
        run_tag, debate_id, clusters.cluster_unit, clusters.cluster_id,
        repeated.source_debate_id as repeated_debate_id,
        cast(case decided.winner when 'pro' then 1 when 'con' then 0 else 0.5 end as decimal(18, 9)) as points,
        means.count_scores * nullif(units.largest, 0) as divisor,
        coalesce(
            cast((means.pro_mean_score - means.con_mean_score) / nullif(units.largest, 0) as decimal(18, 9)), 0
        ) as whole

    from marts.decided_debates as decided
    inner join intermediate.int_debate_means as means using (run_tag, debate_id)
    inner join intermediate.int_clusters as clusters using (run_tag, debate_id)
    inner join units using (run_tag)
    left join intermediate.int_repeated_debates as repeated using (run_tag, debate_id)
    where decided.format = 'two_sided'

),

trials as (

    select
        run_tag, cluster_unit, cluster_id, repeated_debate_id,
        count(*) as n,
        sum(whole) as whole,
        sum(whole * whole) as whole_whole,
        sum(points) as points,
        sum(points * whole) as points_whole

    from debates
    group by run_tag, cluster_unit, cluster_id, repeated_debate_id

),

cluster_sums as (

    select
        run_tag, cluster_unit, cluster_id,
        cast(sum(n) as bigint) as n,
        macros.count_once(repeated_debate_id, n) as count_debates,
        sum(whole) as whole,
        sum(whole_whole) as whole_whole,
        sum(points) as points,
        sum(points_whole) as points_whole

    from trials
    group by run_tag, cluster_unit, cluster_id

),

-- Joined before the scores become rows, of which there are many.
scores as (

    select
        run_tag, debates.cluster_id, debates.points, debates.whole, debates.divisor,
        unnest(verdicts.scores) as score

    from intermediate.int_panel_verdicts as verdicts
    inner join debates using (run_tag, debate_id)
    where verdicts.is_valid

),

parts as (

    select
        run_tag, cluster_id, points, whole,
        score.dimension as dimension,
        coalesce(cast(cast(score.pro - score.con as double) / divisor as decimal(18, 9)), 0) as part

    from scores

),

part_sums as materialized (

    select
        run_tag, cluster_id, dimension,
        sum(part) as part,
        sum(whole * part) as whole_part,
        sum(points * part) as points_part

    from parts
    group by run_tag, cluster_id, dimension

),

final as (

    select
        run_tag, dimension, sums.cluster_unit, cluster_id, sums.n, sums.count_debates, sums.whole, sums.whole_whole,
        sums.points, sums.points_whole,
        coalesce(part_sums.part, 0) as part,
        coalesce(part_sums.whole_part, 0) as whole_part,
        coalesce(part_sums.points_part, 0) as points_part

    from (select distinct run_tag, dimension from part_sums) as dimensions
    inner join cluster_sums as sums using (run_tag)
    left join part_sums using (run_tag, cluster_id, dimension)

)

select * from final
