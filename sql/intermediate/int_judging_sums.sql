-- One row per run, judge or panel, measure, topic and pair of sides: measures of judging, added up over debates.
with

decided_verdicts as materialized (

    select * from intermediate.int_decided_verdicts as decided_verdicts

),

votes as (

    select
        run_tag, debate_id, winner,
        count(*) as count_alike,
        sum(count(*)) over (partition by run_tag, debate_id) as count_verdicts

    from decided_verdicts
    group by run_tag, debate_id, winner

),

scored as (

    select
        run_tag, debate_id, judge_id,
        cast(
            (cast(pro_total as double) / count_dimensions + cast(con_total as double) / count_dimensions) / 2
            as decimal(38, 12)
        ) as level

    from intermediate.int_verdict_totals
    where is_valid and pro_total is not null and con_total is not null

),

levels as (

    select *,
        sum(level) over (partition by run_tag, debate_id) as total_level,
        count(*) over (partition by run_tag, debate_id) as count_scored

    from scored

),

judging_values as (

    select
        run_tag, debate_id,
        'judge' as role,
        decided_verdicts.judge_id as member_id,
        'agreement' as measure,
        cast(cast(votes.count_alike - 1 as double) / (votes.count_verdicts - 1) as decimal(38, 12)) as value

    from decided_verdicts
    inner join votes using (run_tag, debate_id, winner)
    where votes.count_verdicts > 1

    union all

    select
        run_tag, debate_id,
        'judge' as role,
        judge_id as member_id,
        'pro_lean' as measure,
        case winner when 'pro' then 1 when 'con' then -1 else 0 end as value

    from decided_verdicts
    where winner in ('pro', 'con', 'tie')

    union all

    select
        run_tag, debate_id,
        'judge' as role,
        judge_id as member_id,
        'leniency' as measure,
        level - cast(cast(total_level - level as double) / (count_scored - 1) as decimal(38, 12)) as value

    from levels
    where count_scored > 1

    union all

    select
        run_tag, debate_id,
        'panel' as role,
        '' as member_id,
        'agreement' as measure,
        cast(
            cast(sum(count_alike * (count_alike - 1)) as double) / (count_verdicts * (count_verdicts - 1))
            as decimal(38, 12)
        ) as value

    from votes
    where count_verdicts > 1
    group by run_tag, debate_id, count_verdicts

    union all

    select
        run_tag, debate_id,
        'panel' as role,
        '' as member_id,
        'pro_lean' as measure,
        case winner when 'pro' then 1 when 'con' then -1 else 0 end as value

    from marts.decided_debates
    where not is_forfeit and format = 'two_sided'

),

-- Trials of a stored debate are averaged, so that it counts once, however often it is judged.
debate_values as (

    select
        debates.run_tag, judging_values.role, judging_values.member_id, judging_values.measure, debates.topic_id,
        coalesce(debates.pro_model_id, '') as pro_model_id,
        coalesce(debates.con_model_id, '') as con_model_id,
        cast(cast(sum(judging_values.value) as double) / count(*) as decimal(38, 12)) as value

    from staging.stg_debates as debates
    inner join judging_values using (run_tag, debate_id)
    group by
        debates.run_tag, judging_values.role, judging_values.member_id, judging_values.measure, debates.topic_id,
        debates.pro_model_id, debates.con_model_id, coalesce(debates.source_debate_id, debates.debate_id)

),

final as (

    select
        run_tag, role, member_id, measure, topic_id, pro_model_id, con_model_id,
        count(*) as count_debates,
        sum(value) as total

    from debate_values
    group by run_tag, role, member_id, measure, topic_id, pro_model_id, con_model_id

)

select * from final
