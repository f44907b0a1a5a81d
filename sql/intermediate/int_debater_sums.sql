-- One row per run, debater, measure, topic and pair of sides: the repetitions of one debate, added up.
with

debates as (

    select
        debates.run_tag, debates.debate_id, debates.topic_id, debates.pro_model_id, debates.con_model_id,
        debates.status, repeated.source_debate_id as repeated_debate_id

    from staging.stg_debates as debates
    left join intermediate.int_repeated_debates as repeated using (run_tag, debate_id)

),

-- Means are summed as decimals, because a sum of floats depends on the order of the rows.
sides as (

    select
        run_tag, debate_id,
        'win_rate' as measure,
        '' as dimension,
        cast(pro_score as decimal(38, 12)) as pro_value,
        cast(1 - pro_score as decimal(38, 12)) as con_value

    from marts.games

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

    from intermediate.int_dimension_means

),

trials as (

    select
        run_tag, debates.topic_id, debates.pro_model_id, debates.con_model_id, debates.repeated_debate_id,
        sides.measure, sides.dimension,
        count(*) as n,
        sum(sides.pro_value) as pro_total,
        sum(sides.con_value) as con_total

    from sides
    inner join debates using (run_tag, debate_id)
    -- A forfeit has a winner.
    where debates.status = 'complete' or sides.measure = 'win_rate'
    group by
        run_tag, debates.topic_id, debates.pro_model_id, debates.con_model_id, debates.repeated_debate_id,
        sides.measure, sides.dimension

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

both_sides as (

    select
        run_tag, topic_id, pro_model_id, con_model_id, measure, dimension,
        macros.count_once(repeated_debate_id, n) as count_debates,
        macros.sum_once(repeated_debate_id, n, pro_total) as pro_total,
        macros.sum_once(repeated_debate_id, n, con_total) as con_total

    from trials
    group by run_tag, topic_id, pro_model_id, con_model_id, measure, dimension

    union all

    -- If the cost of one turn is unknown, the total is unknown.
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

final as (

    select
        run_tag,
        case side when 'pro' then pro_model_id else con_model_id end as model_id,
        measure, dimension, topic_id, pro_model_id, con_model_id, count_debates,
        case side when 'pro' then pro_total else con_total end as total

    from both_sides
    cross join (values ('pro'), ('con')) as sides (side)
    where
        pro_model_id <> con_model_id
        and case side when 'pro' then pro_total else con_total end is not null

)

select * from final
