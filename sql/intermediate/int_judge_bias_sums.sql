-- One row per judge, kind of bias (of leniency also per dimension) and cluster of debates.
with

-- Elsewhere a judge has one verdict on a debate, and debates need not be told apart.
repeated as (

    select distinct run_tag from staging.stg_debates where trial > 1

),

measured as (

    select
        *,
        case when run_tag in (select run_tag from repeated) then source_debate_id end as debate,
        -- Null for a tie.
        nullif(pro_points, 0.5) as pro_wins,
        case presented_first when 'pro' then 1 when 'con' then 0 end as pro_first,
        length_difference * 0.001 as thousands,
        case when length_difference > 0 then pro_points when length_difference < 0 then 1 - pro_points end as longer_points,
        pro_points - coalesce(people_pro_points, neutral_pro_points) as preference

    from intermediate.int_verdict_comparisons as verdict_comparisons

),

-- A kind of bias is a y that should be `neutral` on average, or should not correlate with an x.
kinds as (

    select
        run_tag, judge_id, cluster_unit, cluster_id,
        unnest(
            [
                {'bias': 'leniency', 'measure': 'mean', 'sums': macros.sums_of(0, score - others_score, debate)},
                {'bias': 'side_preference', 'measure': 'rate', 'sums': macros.sums_of(0, pro_wins, debate)},
                {'bias': 'side_lean', 'measure': 'mean', 'sums': macros.sums_of(0, pro_points - others_pro_points, debate)},
                {'bias': 'position', 'measure': 'slope', 'sums': macros.sums_of(pro_first, pro_wins, debate)},
                {
                    'bias': 'own_family_margin',
                    'measure': 'mean',
                    'sums': macros.sums_of(0, own_side * (margin - neutral_margin), debate)
                },
                {
                    'bias': 'own_family_points',
                    'measure': 'mean',
                    'sums': macros.sums_of(0, own_side * (pro_points - neutral_pro_points), debate)
                },
                {'bias': 'verbosity', 'measure': 'slope', 'sums': macros.sums_of(thousands, margin, debate)},
                {
                    'bias': 'verbosity_beyond_others',
                    'measure': 'slope',
                    'sums': macros.sums_of(thousands, margin - others_margin, debate)
                },
                {'bias': 'verbosity_correlation', 'measure': 'correlation', 'sums': macros.sums_of(thousands, margin, debate)},
                {'bias': 'longer_wins', 'measure': 'rate', 'sums': macros.sums_of(0, nullif(longer_points, 0.5), debate)},
                {'bias': 'own_family_preference', 'measure': 'mean', 'sums': macros.sums_of(0, own_side * preference, debate)}
            ]
        ) as kind,
        count(distinct case when people_pro_points is not null then source_debate_id end) as count_people_debates

    from measured
    group by run_tag, judge_id, cluster_unit, cluster_id

),

-- Both sides together, so that the winner does not matter, above the mean of the other judges.
dimensions as (

    select
        scores.run_tag, scores.judge_id, scores.dimension, clusters.cluster_unit, clusters.cluster_id,
        case when scores.run_tag in (select run_tag from repeated) then clusters.source_debate_id end as debate,
        0.5 * (
            scores.pro_score + scores.con_score
            - cast(sum(scores.pro_score + scores.con_score) over panel - scores.pro_score - scores.con_score as double)
            / nullif(count(*) over panel - 1, 0)
        ) as above_others

    from marts.verdict_scores as scores
    inner join marts.panel_winners using (run_tag, debate_id)
    inner join intermediate.int_clusters as clusters using (run_tag, debate_id)
    where panel_winners.winner <> 'no_decision'
    window panel as (partition by scores.run_tag, scores.debate_id, scores.dimension)

),

by_dimension as (

    select
        run_tag, judge_id, cluster_unit, cluster_id, dimension,
        macros.sums_of(0, above_others, debate) as sums

    from dimensions
    group by run_tag, judge_id, cluster_unit, cluster_id, dimension

),

final as (

    select
        run_tag, judge_id, cluster_unit, cluster_id,
        cast(null as varchar) as dimension,
        kind.bias as bias,
        kind.measure as measure,
        kind.sums.debates as count_debates,
        kind.sums.n as n,
        kind.sums.x as x,
        kind.sums.y as y,
        kind.sums.xx as xx,
        kind.sums.xy as xy,
        kind.sums.yy as yy,
        case when kind.bias = 'own_family_preference' then count_people_debates end as count_people_debates

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
    where kinds.kind.bias = 'leniency'

    union all

    select
        run_tag, judge_id, cluster_unit, cluster_id, dimension,
        'dimension_leniency' as bias,
        'mean' as measure,
        sums.debates as count_debates,
        sums.n as n,
        sums.x as x,
        sums.y as y,
        sums.xx as xx,
        sums.xy as xy,
        sums.yy as yy,
        null as count_people_debates

    from by_dimension
    where sums.n > 0

)

select * from final
