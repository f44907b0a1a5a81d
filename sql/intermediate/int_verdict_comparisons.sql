-- One row per valid verdict in a decided debate, with the means of the other judges of the debate.
with

own_family as materialized (

    select * from intermediate.int_own_family

),

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

-- What is known of a debate, before it is joined to its verdicts, of which there are more.
debates as (

    select
        debates.run_tag, debates.debate_id, clusters.cluster_unit, clusters.cluster_id, debates.pro_model_id,
        debates.con_model_id,
        -- Null where a debate has one trial, and need not be told apart.
        repeated.source_debate_id as repeated_debate_id,
        debates.format = 'two_sided' as is_two_sided,
        cast(case when debates.format = 'two_sided' then speeches.length_difference end as bigint) as length_difference,
        speeches.opening_side

    from staging.stg_debates as debates
    inner join intermediate.int_clusters as clusters using (run_tag, debate_id)
    left join intermediate.int_repeated_debates as repeated using (run_tag, debate_id)
    left join speeches using (run_tag, debate_id)

),

-- Exact to nine decimals, so that sums do not depend on the order of rows.
verdicts as materialized (

    select
        decided_verdicts.run_tag, decided_verdicts.debate_id, debates.repeated_debate_id,
        debates.cluster_unit, debates.cluster_id, decided_verdicts.judge_id, decided_verdicts.winner,
        -- Null for four teams, whose winner is not a side.
        cast(
            case
                when debates.is_two_sided
                    then case decided_verdicts.winner when 'pro' then 1 when 'con' then 0 else 0.5 end
            end as decimal(18, 9)
        ) as pro_points,
        cast(
            (verdict_totals.pro_total + verdict_totals.con_total) / 2 / nullif(verdict_totals.count_dimensions, 0)
            as decimal(18, 9)
        ) as score,
        cast(
            (verdict_totals.pro_total - verdict_totals.con_total) / nullif(verdict_totals.count_dimensions, 0)
            as decimal(18, 9)
        ) as margin,
        case
            when pro_family.judge_id is not null and con_family.judge_id is null then 1
            when pro_family.judge_id is null and con_family.judge_id is not null then -1
        end as own_side,
        debates.length_difference,
        -- If the source does not say, judges are assumed to have read the turns in order.
        coalesce(verdict_totals.presented_first, debates.opening_side) as presented_first

    from intermediate.int_decided_verdicts as decided_verdicts
    inner join debates using (run_tag, debate_id)
    inner join intermediate.int_verdict_totals as verdict_totals using (run_tag, debate_id, judge_id)

    left join own_family as pro_family
        on decided_verdicts.run_tag = pro_family.run_tag
        and decided_verdicts.judge_id = pro_family.judge_id
        and debates.pro_model_id = pro_family.model_id

    left join own_family as con_family
        on decided_verdicts.run_tag = con_family.run_tag
        and decided_verdicts.judge_id = con_family.judge_id
        and debates.con_model_id = con_family.model_id

),

-- A judge with a debater of its own family on one side is not used as a reference for another judge.
panels as (

    select
        run_tag, debate_id,
        count(*) as count_verdicts,
        sum(pro_points) as pro_points,
        count(score) as count_scored,
        sum(score) as score,
        sum(margin) as margin,
        count(case when own_side is null then 1 end) as count_neutral,
        sum(case when own_side is null then pro_points end) as neutral_points,
        count(case when own_side is null then margin end) as count_neutral_scored,
        sum(case when own_side is null then margin end) as neutral_margin

    from verdicts
    group by run_tag, debate_id

),

final as (

    select
        verdicts.run_tag, verdicts.debate_id, verdicts.repeated_debate_id, verdicts.cluster_unit,
        verdicts.cluster_id, verdicts.judge_id, verdicts.winner, verdicts.pro_points, verdicts.score,
        verdicts.margin,
        cast((panels.pro_points - verdicts.pro_points) / nullif(panels.count_verdicts - 1, 0) as decimal(18, 9))
            as others_pro_points,
        cast((panels.score - verdicts.score) / nullif(panels.count_scored - 1, 0) as decimal(18, 9)) as others_score,
        cast((panels.margin - verdicts.margin) / nullif(panels.count_scored - 1, 0) as decimal(18, 9))
            as others_margin,
        verdicts.own_side,
        case when verdicts.own_side is not null
            then cast(panels.neutral_points / nullif(panels.count_neutral, 0) as decimal(18, 9))
        end as neutral_pro_points,
        case when verdicts.own_side is not null
            then cast(panels.neutral_margin / nullif(panels.count_neutral_scored, 0) as decimal(18, 9))
        end as neutral_margin,
        case when verdicts.own_side is not null then cast(people.pro_points as decimal(18, 9)) end as people_pro_points,
        verdicts.length_difference, verdicts.presented_first

    from verdicts
    inner join panels using (run_tag, debate_id)
    left join people using (run_tag, debate_id)

)

select * from final
