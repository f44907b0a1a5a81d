-- One row per run with which another is compared, judge (or the panel), measure, topic and pair of sides.
with

-- Other runs need not be read.
compared as (

    select distinct run_tag from intermediate.int_comparison_sides

),

decided_verdicts as materialized (

    select *
    from intermediate.int_decided_verdicts as decided_verdicts
    where run_tag in (select run_tag from compared)

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
    where
        is_valid
        and pro_total is not null
        and con_total is not null
        and run_tag in (select run_tag from compared)

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
        repeated.source_debate_id as repeated_debate_id,
        panels.count_verdicts, panels.count_pairs, levels.total_level, levels.count_scored,
        case decided.winner when 'pro' then 1 when 'con' then -1 when 'tie' then 0 end as pro_lean

    from staging.stg_debates as debates
    left join panels using (run_tag, debate_id)
    left join levels using (run_tag, debate_id)
    left join intermediate.int_repeated_debates as repeated using (run_tag, debate_id)

    left join marts.decided_debates as decided
        on debates.run_tag = decided.run_tag
        and debates.debate_id = decided.debate_id
        and decided.format = 'two_sided'
        and not decided.is_forfeit

    where debates.run_tag in (select run_tag from compared)

),

debate_values as (

    select
        debates.run_tag,
        decided_verdicts.judge_id as member_id,
        debates.topic_id, debates.pro_model_id, debates.con_model_id, debates.repeated_debate_id,
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
        scored.judge_id as member_id,
        debates.topic_id, debates.pro_model_id, debates.con_model_id, debates.repeated_debate_id,
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
        '' as member_id,
        topic_id, pro_model_id, con_model_id, repeated_debate_id,
        cast(
            cast(count_pairs as double) / nullif(count_verdicts * (count_verdicts - 1), 0) as decimal(38, 12)
        ) as agreement,
        pro_lean,
        null as leniency

    from debates
    where count_verdicts > 1 or pro_lean is not null

),

trials as (

    select
        run_tag, member_id, topic_id, pro_model_id, con_model_id, repeated_debate_id,
        count(agreement) as count_agreement,
        sum(agreement) as agreement,
        count(pro_lean) as count_pro_lean,
        cast(sum(pro_lean) as decimal(38, 12)) as pro_lean,
        count(leniency) as count_leniency,
        sum(leniency) as leniency

    from debate_values
    group by run_tag, member_id, topic_id, pro_model_id, con_model_id, repeated_debate_id

),

sums as (

    select
        run_tag, member_id, topic_id, pro_model_id, con_model_id,
        macros.count_once(repeated_debate_id, count_agreement) as count_agreement,
        macros.sum_once(repeated_debate_id, count_agreement, agreement) as agreement,
        macros.count_once(repeated_debate_id, count_pro_lean) as count_pro_lean,
        macros.sum_once(repeated_debate_id, count_pro_lean, pro_lean) as pro_lean,
        macros.count_once(repeated_debate_id, count_leniency) as count_leniency,
        macros.sum_once(repeated_debate_id, count_leniency, leniency) as leniency

    from trials
    group by run_tag, member_id, topic_id, pro_model_id, con_model_id

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

    select run_tag, member_id, measure, topic_id, pro_model_id, con_model_id, count_debates, total
    from measured
    where count_debates > 0

)

select * from final
