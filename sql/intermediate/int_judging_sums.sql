-- One row per run, judge or panel, measure, topic and pair of sides: measures of judging, added up over debates.
with

decided_verdicts as materialized (

    select * from intermediate.int_decided_verdicts as decided_verdicts

),

votes as materialized (

    select
        run_tag, debate_id, winner,
        count(*) as count_alike

    from decided_verdicts
    group by run_tag, debate_id, winner

),

panels as (

    select
        run_tag, debate_id,
        sum(count_alike) as count_verdicts,
        sum(count_alike * (count_alike - 1)) as count_pairs

    from votes
    group by run_tag, debate_id

),

scored as materialized (

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

    select
        run_tag, debate_id,
        sum(level) as total_level,
        count(*) as count_scored

    from scored
    group by run_tag, debate_id

),

-- What is known of a debate, before it is joined to its verdicts, of which there are more.
debates as materialized (

    select
        debates.run_tag, debates.debate_id, debates.topic_id,
        coalesce(debates.pro_model_id, '') as pro_model_id,
        coalesce(debates.con_model_id, '') as con_model_id,
        coalesce(debates.source_debate_id, debates.debate_id) as source_debate_id,
        panels.count_verdicts, panels.count_pairs, levels.total_level, levels.count_scored,
        case decided.winner when 'pro' then 1 when 'con' then -1 when 'tie' then 0 end as pro_lean

    from staging.stg_debates as debates
    left join panels using (run_tag, debate_id)
    left join levels using (run_tag, debate_id)

    left join marts.decided_debates as decided
        on debates.run_tag = decided.run_tag
        and debates.debate_id = decided.debate_id
        and decided.format = 'two_sided'
        and not decided.is_forfeit

),

debate_values as (

    select
        debates.run_tag,
        'judge' as role,
        decided_verdicts.judge_id as member_id,
        debates.topic_id, debates.pro_model_id, debates.con_model_id, debates.source_debate_id,
        cast(cast(votes.count_alike - 1 as double) / nullif(debates.count_verdicts - 1, 0) as decimal(38, 12))
            as agreement,
        case decided_verdicts.winner when 'pro' then 1 when 'con' then -1 when 'tie' then 0 end as pro_lean,
        cast(null as decimal(38, 12)) as leniency

    from decided_verdicts
    inner join votes using (run_tag, debate_id, winner)
    inner join debates using (run_tag, debate_id)

    union all

    select
        debates.run_tag,
        'judge' as role,
        scored.judge_id as member_id,
        debates.topic_id, debates.pro_model_id, debates.con_model_id, debates.source_debate_id,
        null as agreement,
        null as pro_lean,
        scored.level
        - cast(cast(debates.total_level - scored.level as double) / (debates.count_scored - 1) as decimal(38, 12))
            as leniency

    from scored
    inner join debates using (run_tag, debate_id)
    where debates.count_scored > 1

    union all

    select
        run_tag,
        'panel' as role,
        '' as member_id,
        topic_id, pro_model_id, con_model_id, source_debate_id,
        cast(
            cast(count_pairs as double) / nullif(count_verdicts * (count_verdicts - 1), 0) as decimal(38, 12)
        ) as agreement,
        pro_lean,
        null as leniency

    from debates
    where count_verdicts > 1 or pro_lean is not null

),

-- Trials of a stored debate are averaged, so that it counts once, however often it is judged.
averaged as (

    select
        run_tag, role, member_id, topic_id, pro_model_id, con_model_id,
        cast(sum(agreement) as double) / nullif(count(agreement), 0) as agreement,
        cast(sum(pro_lean) as double) / nullif(count(pro_lean), 0) as pro_lean,
        cast(sum(leniency) as double) / nullif(count(leniency), 0) as leniency

    from debate_values
    where run_tag in (select run_tag from intermediate.int_repeated_runs)
    group by run_tag, role, member_id, topic_id, pro_model_id, con_model_id, source_debate_id

    union all

    select
        run_tag, role, member_id, topic_id, pro_model_id, con_model_id, agreement, pro_lean, leniency

    from debate_values
    where run_tag not in (select run_tag from intermediate.int_repeated_runs)

),

sums as (

    select
        run_tag, role, member_id, topic_id, pro_model_id, con_model_id,
        count(agreement) as count_agreement,
        sum(cast(agreement as decimal(38, 12))) as agreement,
        count(pro_lean) as count_pro_lean,
        sum(cast(pro_lean as decimal(38, 12))) as pro_lean,
        count(leniency) as count_leniency,
        sum(cast(leniency as decimal(38, 12))) as leniency

    from averaged
    group by run_tag, role, member_id, topic_id, pro_model_id, con_model_id

),

measured as (

    select
        sums.*,
        measures.measure,
        case measures.measure
            when 'agreement' then count_agreement
            when 'pro_lean' then count_pro_lean
            else count_leniency
        end as count_debates,
        case measures.measure when 'agreement' then agreement when 'pro_lean' then pro_lean else leniency end as total

    from sums
    cross join (values ('agreement'), ('pro_lean'), ('leniency')) as measures (measure)

),

final as (

    select run_tag, role, member_id, measure, topic_id, pro_model_id, con_model_id, count_debates, total
    from measured
    where count_debates > 0

)

select * from final
