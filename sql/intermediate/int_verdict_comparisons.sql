-- One row per valid verdict in a decided debate, with the means of the other judges of the debate.
with

-- Characters are counted, because tokens are often unknown and may include reasoning that judges do not see.
speeches as (

    select
        run_tag, debate_id,
        sum(case side when 'pro' then length(content) when 'con' then -length(content) end) as length_difference,
        arg_min(side, turn_index) as opening_side

    from intermediate.int_debate_turns
    group by run_tag, debate_id

),

-- Pro's points in the eyes of people: as they agreed, else as an external verdict says, else by most of their verdicts.
people as (

    select
        sources.run_tag, sources.debate_id,
        arg_min(
            1 - truths.label, case truths.truth when 'adjudicated' then 1 when 'gold' then 2 else 3 end
        ) as pro_points

    from intermediate.int_truth_debates
    inner join intermediate.int_debate_sources as sources using (run_tag, debate_id)

    inner join marts.truths
        on sources.source_run_tag = truths.run_tag
        and sources.source_debate_id = truths.debate_id

    where truths.dimension = 'overall' and truths.format = 'two_sided'
    group by sources.run_tag, sources.debate_id

),

-- A judge with a debater of its own family on one side is not used as a reference for another judge.
relatives as materialized (

    select
        run_tag, debate_id, judge_id,
        any_value(
            cast(case verdicts.winner when 'pro' then 1 when 'con' then 0 else 0.5 end as decimal(18, 9))
        ) as pro_points,
        any_value(case family.model_id when debates.pro_model_id then 1 else -1 end) as own_side

    from intermediate.int_own_family as family
    inner join intermediate.int_decided_verdicts as verdicts using (run_tag, judge_id)
    inner join staging.stg_debates as debates using (run_tag, debate_id)

    where
        family.model_id in (debates.pro_model_id, debates.con_model_id)
        and debates.pro_model_id <> debates.con_model_id

    group by run_tag, debate_id, judge_id
    -- A judge with relatives on both sides is neutral.
    having count(*) = 1

),

relatives_of_debates as (

    select
        run_tag, debate_id,
        count(*) as count_verdicts,
        sum(relatives.pro_points) as points_total,
        count(scores.pro_mean_score) as count_scored,
        coalesce(sum(macros.verdict_margin(scores.pro_mean_score, scores.con_mean_score)), 0) as margin_total

    from relatives
    inner join marts.judge_verdicts_v4 as scores using (run_tag, debate_id, judge_id)
    group by run_tag, debate_id

),

own_sides as (

    select
        run_tag, debate_id, relatives.judge_id, relatives.own_side,
        others.count_verdicts as count_relatives,
        others.points_total as relatives_points,
        others.count_scored as count_scored_relatives,
        others.margin_total as relatives_margin,
        cast(people.pro_points as decimal(18, 9)) as people_pro_points

    from relatives
    inner join relatives_of_debates as others using (run_tag, debate_id)
    left join people using (run_tag, debate_id)

),

-- What is known of a debate, before it is joined to its verdicts, of which there are more.
debates as (

    select
        run_tag, debate_id, clusters.source_debate_id, clusters.cluster_unit, clusters.cluster_id,
        debates.format = 'two_sided' as is_two_sided,
        means.count_scored_verdicts as count_scored,
        means.score_total, means.margin_total,
        cast(case when debates.format = 'two_sided' then speeches.length_difference end as bigint) as length_difference,
        speeches.opening_side

    from staging.stg_debates as debates
    inner join intermediate.int_clusters as clusters using (run_tag, debate_id)
    left join intermediate.int_debate_means as means using (run_tag, debate_id)
    left join speeches using (run_tag, debate_id)

),

-- Exact to nine decimals, so that sums do not depend on the order of rows. What the panel gave in total is stored.
verdicts as (

    select
        run_tag, debate_id, debates.source_debate_id, debates.cluster_unit, debates.cluster_id, judge_id,
        verdicts.winner,
        -- Null for four teams, whose winner is not a side.
        case
            when debates.is_two_sided
                then cast(case verdicts.winner when 'pro' then 1 when 'con' then 0 else 0.5 end as decimal(18, 9))
        end as pro_points,
        macros.verdict_score(scores.pro_mean_score, scores.con_mean_score) as score,
        macros.verdict_margin(scores.pro_mean_score, scores.con_mean_score) as margin,
        verdicts.count_verdicts,
        cast(verdicts.count_pro + 0.5 * verdicts.count_tie as decimal(18, 9)) as points_total,
        debates.count_scored, debates.score_total, debates.margin_total, debates.length_difference,
        -- If the source does not say, judges are assumed to have read the turns in order.
        coalesce(scores.presented_first, debates.opening_side) as presented_first

    from intermediate.int_decided_verdicts as verdicts
    inner join marts.judge_verdicts_v4 as scores using (run_tag, debate_id, judge_id)
    inner join debates using (run_tag, debate_id)

),

final as (

    select
        run_tag, debate_id, verdicts.source_debate_id, verdicts.cluster_unit, verdicts.cluster_id, judge_id,
        verdicts.winner, verdicts.pro_points, verdicts.score, verdicts.margin,
        cast((verdicts.points_total - verdicts.pro_points) / nullif(verdicts.count_verdicts - 1, 0) as decimal(18, 9))
            as others_pro_points,
        cast((verdicts.score_total - verdicts.score) / nullif(verdicts.count_scored - 1, 0) as decimal(18, 9))
            as others_score,
        cast((verdicts.margin_total - verdicts.margin) / nullif(verdicts.count_scored - 1, 0) as decimal(18, 9))
            as others_margin,
        own_sides.own_side,
        cast(
            case when verdicts.pro_points is not null
                then
                    (verdicts.points_total - own_sides.relatives_points)
                    / nullif(verdicts.count_verdicts - own_sides.count_relatives, 0)
            end
            as decimal(18, 9)
        ) as neutral_pro_points,
        cast(
            (verdicts.margin_total - own_sides.relatives_margin)
            / nullif(verdicts.count_scored - own_sides.count_scored_relatives, 0)
            as decimal(18, 9)
        ) as neutral_margin,
        own_sides.people_pro_points, verdicts.length_difference, verdicts.presented_first

    from verdicts
    left join own_sides using (run_tag, debate_id, judge_id)

)

select * from final
