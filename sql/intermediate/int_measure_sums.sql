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

debate_values as (

    select
        debates.run_tag, debates.topic_id, debates.pro_model_id, debates.con_model_id, sides.measure, sides.dimension,
        coalesce(debates.source_debate_id, debates.debate_id) as source_debate_id,
        sides.pro_value, sides.con_value

    from staging.stg_debates as debates
    inner join sides using (run_tag, debate_id)

),

-- Trials of a stored debate are averaged, so that it counts once, however often it is judged.
averaged as (

    select
        run_tag, topic_id, pro_model_id, con_model_id, measure, dimension,
        cast(sum(pro_value) as double) / count(*) as pro_value,
        cast(sum(con_value) as double) / count(*) as con_value

    from debate_values
    where run_tag in (select run_tag from intermediate.int_repeated_runs)
    group by run_tag, topic_id, pro_model_id, con_model_id, measure, dimension, source_debate_id

    union all

    select
        run_tag, topic_id, pro_model_id, con_model_id, measure, dimension, pro_value, con_value

    from debate_values
    where run_tag not in (select run_tag from intermediate.int_repeated_runs)

),

results as (

    select
        run_tag, topic_id, pro_model_id, con_model_id, measure, dimension,
        count(*) as count_debates,
        sum(cast(pro_value as decimal(38, 12))) as pro_total,
        sum(cast(con_value as decimal(38, 12))) as con_total

    from averaged
    group by run_tag, topic_id, pro_model_id, con_model_id, measure, dimension

),

turn_costs as (

    select
        run_tag, debate_id,
        count(case when side = 'pro' and cost_usd is null then 1 end) as count_pro_unknown,
        count(case when side = 'con' and cost_usd is null then 1 end) as count_con_unknown,
        sum(case when side = 'pro' then cost_usd end) as pro_cost_usd,
        sum(case when side = 'con' then cost_usd end) as con_cost_usd

    from staging.stg_turns
    group by run_tag, debate_id

),

-- If the cost of one turn is unknown, the total is unknown.
costs as (

    select
        debates.run_tag, debates.topic_id, debates.pro_model_id, debates.con_model_id,
        'turn_cost_usd' as measure,
        '' as dimension,
        count(*) as count_debates,
        case when sum(turn_costs.count_pro_unknown) = 0 then cast(sum(turn_costs.pro_cost_usd) as decimal(38, 12)) end
            as pro_total,
        case when sum(turn_costs.count_con_unknown) = 0 then cast(sum(turn_costs.con_cost_usd) as decimal(38, 12)) end
            as con_total

    from staging.stg_debates as debates
    left join turn_costs using (run_tag, debate_id)
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
