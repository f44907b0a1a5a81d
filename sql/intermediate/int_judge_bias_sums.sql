-- One row per judge, kind of bias (of leniency also per dimension) and cluster of debates.
with

measured as (

    select
        *,
        -- Null for a tie.
        nullif(pro_points, 0.5) as pro_wins,
        case presented_first when 'pro' then 1 when 'con' then 0 end as pro_first,
        length_difference * 0.001 as thousands,
        case when length_difference > 0 then pro_points when length_difference < 0 then 1 - pro_points end as longer_points,
        pro_points - coalesce(people_pro_points, neutral_pro_points) as preference

    from intermediate.int_verdict_comparisons

),

-- A kind of bias is a y that should be `neutral` on average, or should not correlate with an x. Each kind has a column of
-- its own, so that all are added up in one pass.
sums as materialized (

    select
        run_tag, judge_id, cluster_unit, cluster_id, repeated_debate_id,
        macros.sums_of_one(score - others_score) as leniency,
        macros.sums_of_one(pro_wins) as side_preference,
        macros.sums_of_one(pro_points - others_pro_points) as side_lean,
        macros.sums_of(pro_first, pro_wins) as position,
        macros.sums_of_one(own_side * (margin - neutral_margin)) as own_family_margin,
        macros.sums_of_one(own_side * (pro_points - neutral_pro_points)) as own_family_points,
        macros.sums_of(thousands, margin) as verbosity,
        macros.sums_of(thousands, margin - others_margin) as verbosity_beyond_others,
        macros.sums_of_one(nullif(longer_points, 0.5)) as longer_wins,
        macros.sums_of_one(own_side * preference) as own_family_preference,
        count(people_pro_points) as count_people

    from measured
    group by run_tag, judge_id, cluster_unit, cluster_id, repeated_debate_id

),

debate_kinds as (

    select 'leniency' as bias, 'mean' as measure, leniency as kind, * from sums
    union all
    select 'side_preference' as bias, 'rate' as measure, side_preference as kind, * from sums
    union all
    select 'side_lean' as bias, 'mean' as measure, side_lean as kind, * from sums
    union all
    select 'position' as bias, 'slope' as measure, position as kind, * from sums
    union all
    select 'own_family_margin' as bias, 'mean' as measure, own_family_margin as kind, * from sums
    union all
    select 'own_family_points' as bias, 'mean' as measure, own_family_points as kind, * from sums
    union all
    select 'verbosity' as bias, 'slope' as measure, verbosity as kind, * from sums
    union all
    select 'verbosity_beyond_others' as bias, 'slope' as measure, verbosity_beyond_others as kind, * from sums
    union all
    select 'verbosity_correlation' as bias, 'correlation' as measure, verbosity as kind, * from sums
    union all
    select 'longer_wins' as bias, 'rate' as measure, longer_wins as kind, * from sums
    union all
    select 'own_family_preference' as bias, 'mean' as measure, own_family_preference as kind, * from sums

),

kinds as (

    select
        run_tag, judge_id, cluster_unit, cluster_id, bias, measure,
        macros.count_once(repeated_debate_id, kind.n) as count_debates,
        cast(sum(kind.n) as bigint) as n,
        sum(kind.x) as x,
        sum(kind.y) as y,
        sum(kind.xx) as xx,
        sum(kind.xy) as xy,
        sum(kind.yy) as yy,
        macros.count_once(repeated_debate_id, count_people) as count_people_debates

    from debate_kinds
    group by run_tag, judge_id, cluster_unit, cluster_id, bias, measure

),

-- Numbers instead of names, because each debate has many scores; any number will do.
debates as materialized (

    select
        run_tag, debate_id, clusters.cluster_unit, clusters.cluster_id,
        repeated.source_debate_id as repeated_debate_id,
        cast(row_number() over () as integer) as debate_number,
        cast(
            dense_rank() over (
                order by run_tag, clusters.cluster_unit, clusters.cluster_id, repeated.source_debate_id
            ) as integer
        ) as cluster_number

    from marts.panel_winners
    inner join intermediate.int_clusters as clusters using (run_tag, debate_id)
    left join intermediate.int_repeated_debates as repeated using (run_tag, debate_id)
    where panel_winners.winner <> 'no_decision'

),

judges as materialized (

    select
        run_tag, judge_id,
        cast(row_number() over () as integer) as judge_number

    from staging.stg_judges

),

dimensions as materialized (

    select
        run_tag, dimension,
        cast(row_number() over () as integer) as dimension_number

    from staging.stg_dimensions

),

-- Joined before the scores become rows.
opened as (

    select
        run_tag, debates.debate_number, debates.cluster_number, judges.judge_number,
        unnest(verdicts.scores) as score

    from intermediate.int_panel_verdicts as verdicts
    inner join debates using (run_tag, debate_id)
    inner join judges using (run_tag, judge_id)
    where verdicts.is_valid

),

-- Both sides of a verdict together, so that the winner does not matter.
scored as materialized (

    select
        opened.debate_number, opened.cluster_number, opened.judge_number, dimensions.dimension_number,
        opened.score.pro + opened.score.con as score

    from opened
    inner join dimensions on opened.run_tag = dimensions.run_tag and opened.score.dimension = dimensions.dimension

),

panels as (

    select
        debate_number, dimension_number,
        count(*) as count_verdicts,
        sum(score) as score

    from scored
    group by debate_number, dimension_number

),

-- Above the mean of the other judges.
above_others as (

    select
        scored.cluster_number, scored.judge_number, dimension_number,
        cast(
            0.5 * (scored.score - cast(panels.score - scored.score as double) / nullif(panels.count_verdicts - 1, 0))
            as decimal(18, 9)
        ) as points

    from scored
    inner join panels using (debate_number, dimension_number)

),

sums_above as (

    select
        cluster_number, judge_number, dimension_number,
        macros.sums_of_one(points) as sums

    from above_others
    group by cluster_number, judge_number, dimension_number

),

clusters as (

    select distinct run_tag, cluster_unit, cluster_id, repeated_debate_id, cluster_number from debates

),

by_dimension as (

    select
        clusters.run_tag, judges.judge_id, clusters.cluster_unit, clusters.cluster_id, dimensions.dimension,
        macros.count_once(clusters.repeated_debate_id, sums_above.sums.n) as count_debates,
        cast(sum(sums_above.sums.n) as bigint) as n,
        sum(sums_above.sums.y) as y,
        sum(sums_above.sums.yy) as yy

    from sums_above
    inner join clusters using (cluster_number)
    inner join judges using (judge_number)
    inner join dimensions using (dimension_number)
    group by clusters.run_tag, judges.judge_id, clusters.cluster_unit, clusters.cluster_id, dimensions.dimension

),

final as (

    select
        run_tag, judge_id, cluster_unit, cluster_id,
        cast(null as varchar) as dimension,
        bias, measure, count_debates, n, x, y, xx, xy, yy,
        case when bias = 'own_family_preference' then count_people_debates end as count_people_debates

    from kinds

    union all

    -- These are counted in pairs of debates.
    select
        kinds.run_tag, kinds.judge_id, kinds.cluster_unit, kinds.cluster_id,
        null as dimension,
        'mirrored_side_preference' as bias,
        'rate' as measure,
        coalesce(pairs.count_pro_both + pairs.count_con_both, 0) as count_debates,
        coalesce(pairs.count_pro_both + pairs.count_con_both, 0) as n,
        0 as x,
        coalesce(pairs.count_pro_both, 0) as y,
        0 as xx,
        0 as xy,
        coalesce(pairs.count_pro_both, 0) as yy,
        null as count_people_debates

    from kinds
    left join intermediate.int_judge_mirrored_sums as pairs using (run_tag, judge_id, cluster_id)
    where kinds.bias = 'leniency'

    union all

    select
        run_tag, judge_id, cluster_unit, cluster_id, dimension,
        'dimension_leniency' as bias,
        'mean' as measure,
        count_debates, n,
        0 as x,
        y,
        0 as xx,
        0 as xy,
        yy,
        null as count_people_debates

    from by_dimension
    where n > 0

)

select * from final
