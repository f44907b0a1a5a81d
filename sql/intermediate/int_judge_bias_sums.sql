-- One row per judge, kind of bias and cluster of debates.
with

measured as (

    select
        *,
        source_debate_id as debate,
        -- Null for a tie.
        nullif(pro_points, 0.5) as pro_wins,
        case presented_first when 'pro' then 1 when 'con' then 0 end as pro_first,
        length_difference * 0.001 as thousands

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
                {
                    'bias': 'longer_wins',
                    'measure': 'rate',
                    'sums': macros.sums_of(
                        0,
                        case when thousands > 0 then pro_wins when thousands < 0 then 1 - pro_wins end,
                        debate
                    )
                }
            ]
        ) as kind

    from measured
    group by run_tag, judge_id, cluster_unit, cluster_id

),

final as (

    select
        run_tag, judge_id, cluster_unit, cluster_id,
        kind.bias as bias,
        kind.measure as measure,
        kind.sums.debates as count_debates,
        kind.sums.n as n,
        kind.sums.x as x,
        kind.sums.y as y,
        kind.sums.xx as xx,
        kind.sums.xy as xy,
        kind.sums.yy as yy

    from kinds

    union all

    -- These are counted in pairs of debates.
    select
        kinds.run_tag, kinds.judge_id, kinds.cluster_unit, kinds.cluster_id,
        'mirrored_side_preference' as bias,
        'rate' as measure,
        coalesce(pairs.count_pro_both + pairs.count_con_both, 0) as count_debates,
        coalesce(pairs.count_pro_both + pairs.count_con_both, 0) as n,
        0 as x,
        coalesce(pairs.count_pro_both, 0) as y,
        0 as xx,
        0 as xy,
        coalesce(pairs.count_pro_both, 0) as yy

    from kinds
    left join intermediate.int_judge_mirrored_sums as pairs using (run_tag, judge_id, cluster_id)
    where kinds.kind.bias = 'leniency'

)

select * from final
