-- One row per run, debater or judge, measure, topic and pair of sides: the repetitions of one debate, added up.
with

-- Means are summed as decimals, because a sum of floats depends on the order of the rows.
sides as (

    select
        run_tag, debate_id,
        'win_rate' as measure,
        '' as dimension,
        cast(case winner when 'pro' then 1 when 'con' then 0 else 0.5 end as decimal(38, 12)) as pro_value,
        cast(case winner when 'con' then 1 when 'pro' then 0 else 0.5 end as decimal(38, 12)) as con_value

    from marts.decided_debates
    where is_rated

    union all

    select
        run_tag, debate_id,
        'mean_score' as measure,
        '' as dimension,
        cast(pro_mean_score as decimal(38, 12)) as pro_value,
        cast(con_mean_score as decimal(38, 12)) as con_value

    from intermediate.int_debate_means

    union all

    select
        run_tag, debate_id,
        'dimension_score' as measure,
        dimension,
        cast(pro_mean_score as decimal(38, 12)) as pro_value,
        cast(con_mean_score as decimal(38, 12)) as con_value

    from marts.debate_dimension_means

),

-- Trials of a stored debate are averaged, so that it counts once, however often it is judged.
debate_values as (

    select
        debates.run_tag, debates.topic_id, debates.pro_model_id, debates.con_model_id, sides.measure, sides.dimension,
        cast(cast(sum(sides.pro_value) as double) / count(*) as decimal(38, 12)) as pro_value,
        cast(cast(sum(sides.con_value) as double) / count(*) as decimal(38, 12)) as con_value

    from staging.stg_debates as debates
    inner join sides using (run_tag, debate_id)

    group by
        debates.run_tag, debates.topic_id, debates.pro_model_id, debates.con_model_id, sides.measure, sides.dimension,
        coalesce(debates.source_debate_id, debates.debate_id)

),

results as (

    select
        run_tag, topic_id, pro_model_id, con_model_id, measure, dimension,
        count(*) as count_debates,
        sum(pro_value) as pro_total,
        sum(con_value) as con_total

    from debate_values
    group by run_tag, topic_id, pro_model_id, con_model_id, measure, dimension

),

debate_counts as (

    select
        run_tag, topic_id, pro_model_id, con_model_id,
        count(*) as count_debates

    from staging.stg_debates
    where status = 'complete'
    group by run_tag, topic_id, pro_model_id, con_model_id

),

-- If the cost of one turn is unknown, the total is unknown.
costs as (

    select
        debates.run_tag, debates.topic_id, debates.pro_model_id, debates.con_model_id,
        'turn_cost_usd' as measure,
        '' as dimension,
        any_value(debate_counts.count_debates) as count_debates,
        case when count(case when turns.side = 'pro' and turns.cost_usd is null then 1 end) = 0 then
            cast(sum(case when turns.side = 'pro' then turns.cost_usd end) as decimal(38, 12))
        end as pro_total,
        case when count(case when turns.side = 'con' and turns.cost_usd is null then 1 end) = 0 then
            cast(sum(case when turns.side = 'con' then turns.cost_usd end) as decimal(38, 12))
        end as con_total

    from staging.stg_debates as debates
    inner join staging.stg_turns as turns using (run_tag, debate_id)
    inner join debate_counts using (run_tag, topic_id, pro_model_id, con_model_id)
    where debates.status = 'complete'
    group by debates.run_tag, debates.topic_id, debates.pro_model_id, debates.con_model_id

),

both_sides as (

    select * from results
    union all
    select * from costs

),

final as (

    select
        run_tag,
        'debater' as role,
        pro_model_id as member_id,
        measure, dimension, topic_id, pro_model_id, con_model_id, count_debates,
        pro_total as total

    from both_sides
    where pro_model_id <> con_model_id and pro_total is not null

    union all

    select
        run_tag,
        'debater' as role,
        con_model_id as member_id,
        measure, dimension, topic_id, pro_model_id, con_model_id, count_debates,
        con_total as total

    from both_sides
    where pro_model_id <> con_model_id and con_total is not null

    union all

    select
        run_tag, role, member_id, measure,
        '' as dimension,
        topic_id, pro_model_id, con_model_id, count_debates, total

    from intermediate.int_judging_sums as judging_sums

)

select * from final
