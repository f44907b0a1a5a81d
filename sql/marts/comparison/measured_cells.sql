-- One row per run, debater or judge, measure, topic and pair of sides: the repetitions of one debate, added up.
with

decided_debates as materialized (

    select * from marts.decided_debates

),

counted_verdicts as materialized (

    select * from marts.counted_verdicts

),

-- Means are summed as decimals, because a sum of floats depends on the order of the rows.
win_rates as (

    select
        run_tag, topic_id, pro_model_id, con_model_id,
        'win_rate' as measure,
        '' as dimension,
        count(*) as count_debates,
        cast(sum(case winner when 'pro' then 1 when 'con' then 0 else 0.5 end) as decimal(38, 12)) as pro_total,
        cast(sum(case winner when 'con' then 1 when 'pro' then 0 else 0.5 end) as decimal(38, 12)) as con_total

    from decided_debates
    where is_rated
    group by run_tag, topic_id, pro_model_id, con_model_id

),

mean_scores as (

    select
        debates.run_tag, debates.topic_id, debates.pro_model_id, debates.con_model_id,
        'mean_score' as measure,
        '' as dimension,
        count(*) as count_debates,
        sum(cast(debate_means.mean_pro as decimal(38, 12))) as pro_total,
        sum(cast(debate_means.mean_con as decimal(38, 12))) as con_total

    from staging.stg_debates as debates
    inner join intermediate.int_debate_means as debate_means using (run_tag, debate_id)
    group by debates.run_tag, debates.topic_id, debates.pro_model_id, debates.con_model_id

),

dimension_scores as (

    select
        debates.run_tag, debates.topic_id, debates.pro_model_id, debates.con_model_id,
        'dimension_score' as measure,
        dimension_means.dimension,
        count(*) as count_debates,
        sum(cast(dimension_means.mean_pro as decimal(38, 12))) as pro_total,
        sum(cast(dimension_means.mean_con as decimal(38, 12))) as con_total

    from staging.stg_debates as debates
    inner join marts.debate_dimension_means as dimension_means using (run_tag, debate_id)

    group by
        debates.run_tag,
        debates.topic_id,
        debates.pro_model_id,
        debates.con_model_id,
        dimension_means.dimension

),

debate_counts as (

    select
        run_tag, topic_id, pro_model_id, con_model_id,
        count(*) as count_debates

    from staging.stg_debates
    where status = 'complete'
    group by run_tag, topic_id, pro_model_id, con_model_id

),

-- One turn of unknown cost makes the whole unknown.
turn_costs as (

    select
        debates.run_tag, debates.topic_id, debates.pro_model_id, debates.con_model_id,
        case when count(case when turns.side = 'pro' and turns.cost_usd is null then 1 end) = 0 then
            sum(case when turns.side = 'pro' then turns.cost_usd end)
        end as pro_total,
        case when count(case when turns.side = 'con' and turns.cost_usd is null then 1 end) = 0 then
            sum(case when turns.side = 'con' then turns.cost_usd end)
        end as con_total

    from staging.stg_debates as debates
    inner join staging.stg_turns as turns using (run_tag, debate_id)
    where debates.status = 'complete'
    group by debates.run_tag, debates.topic_id, debates.pro_model_id, debates.con_model_id

),

costs as (

    select
        turn_costs.run_tag, turn_costs.topic_id, turn_costs.pro_model_id, turn_costs.con_model_id,
        'cost_usd' as measure,
        '' as dimension,
        debate_counts.count_debates,
        cast(turn_costs.pro_total as decimal(38, 12)) as pro_total,
        cast(turn_costs.con_total as decimal(38, 12)) as con_total

    from turn_costs
    inner join debate_counts using (run_tag, topic_id, pro_model_id, con_model_id)

),

both_sides as (

    select * from win_rates
    union all
    select * from mean_scores
    union all
    select * from dimension_scores
    union all
    select * from costs

),

votes as (

    select
        run_tag, debate_id,
        count(*) as count_verdicts,
        count(case when winner = 'pro' then 1 end) as pro,
        count(case when winner = 'con' then 1 end) as con,
        count(case when winner = 'tie' then 1 end) as tie

    from counted_verdicts
    group by run_tag, debate_id

),

levels as (

    select
        run_tag, debate_id, judge_id,
        cast(
            (cast(pro_total as double) / count_dimensions + cast(con_total as double) / count_dimensions) / 2
            as decimal(38, 12)
        ) as level

    from intermediate.int_verdict_totals
    where is_valid and pro_total is not null and con_total is not null

),

panel_levels as (

    select
        run_tag, debate_id,
        sum(level) as total,
        count(*) as count_verdicts

    from levels
    group by run_tag, debate_id

),

judge_values as (

    select
        counted_verdicts.run_tag, counted_verdicts.debate_id,
        counted_verdicts.judge_id as member_id,
        'agreement' as measure,
        cast(
            cast(
                case counted_verdicts.winner when 'pro' then votes.pro when 'con' then votes.con else votes.tie end - 1
                as double
            ) / (votes.count_verdicts - 1)
            as decimal(38, 12)
        ) as value

    from counted_verdicts
    inner join votes using (run_tag, debate_id)
    where votes.count_verdicts > 1

    union all

    select
        run_tag, debate_id, judge_id,
        'pro_lean' as measure,
        case winner when 'pro' then 1 when 'con' then -1 else 0 end as value

    from counted_verdicts

    union all

    select
        levels.run_tag, levels.debate_id, levels.judge_id,
        'leniency' as measure,
        levels.level
        - cast(
            cast(panel_levels.total - levels.level as double) / (panel_levels.count_verdicts - 1) as decimal(38, 12)
        ) as value

    from levels
    inner join panel_levels using (run_tag, debate_id)
    where panel_levels.count_verdicts > 1

),

panel_values as (

    select
        run_tag, debate_id,
        '' as member_id,
        'agreement' as measure,
        cast(
            cast(pro * (pro - 1) + con * (con - 1) + tie * (tie - 1) as double)
            / (count_verdicts * (count_verdicts - 1))
            as decimal(38, 12)
        ) as value

    from votes
    where count_verdicts > 1

    union all

    select
        run_tag, debate_id,
        '' as member_id,
        'pro_lean' as measure,
        case winner when 'pro' then 1 when 'con' then -1 else 0 end as value

    from decided_debates

),

judging_values as (

    select
        'judge' as role,
        *

    from judge_values

    union all

    select
        'panel' as role,
        *

    from panel_values

),

judging_cells as (

    select
        debates.run_tag, judging_values.role, judging_values.member_id, judging_values.measure,
        '' as dimension,
        debates.topic_id,
        coalesce(debates.pro_model_id, '') as pro_model_id,
        coalesce(debates.con_model_id, '') as con_model_id,
        count(*) as count_debates,
        sum(judging_values.value) as total

    from staging.stg_debates as debates
    inner join judging_values using (run_tag, debate_id)

    group by
        debates.run_tag,
        judging_values.role,
        judging_values.member_id,
        judging_values.measure,
        debates.topic_id,
        debates.pro_model_id,
        debates.con_model_id

),

final as (

    select
        run_tag,
        'debater' as role,
        pro_model_id as member_id,
        measure,
        dimension,
        topic_id,
        pro_model_id,
        con_model_id,
        count_debates,
        pro_total as total

    from both_sides
    where pro_model_id <> con_model_id and pro_total is not null

    union all

    select
        run_tag,
        'debater' as role,
        con_model_id as member_id,
        measure,
        dimension,
        topic_id,
        pro_model_id,
        con_model_id,
        count_debates,
        con_total as total

    from both_sides
    where pro_model_id <> con_model_id and con_total is not null

    union all

    select * from judging_cells

)

select * from final
