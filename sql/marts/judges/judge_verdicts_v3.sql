-- One row per judge and debate: as in version 4, but a tie where the judge prefers another side in the other order.
with

-- Where a judge saw the debate several times in an order, it prefers the side that it preferred more often.
orders as (

    select
        verdicts.run_tag, sources.source_debate_id, verdicts.judge_id, shown.presented_first,
        macros.higher_side(
            count(case when verdicts.winner = 'pro' then 1 end), count(case when verdicts.winner = 'con' then 1 end)
        ) as winner

    from marts.judge_verdicts_v4 as verdicts
    inner join staging.stg_verdicts as shown using (run_tag, debate_id, judge_id)
    inner join intermediate.int_debate_sources as sources using (run_tag, debate_id)
    where verdicts.is_valid and shown.presented_first is not null
    group by verdicts.run_tag, sources.source_debate_id, verdicts.judge_id, shown.presented_first

),

flips as (

    select run_tag, source_debate_id, judge_id
    from orders
    group by run_tag, source_debate_id, judge_id
    having count(distinct winner) > 1

),

final as (

    select
        verdicts.run_tag, verdicts.debate_id, verdicts.judge_id, verdicts.panel_position,
        case when verdicts.is_valid and flips.judge_id is not null then 'tie' else verdicts.winner end as winner,
        verdicts.is_valid

    from marts.judge_verdicts_v4 as verdicts
    inner join intermediate.int_debate_sources as sources using (run_tag, debate_id)
    left join flips using (run_tag, source_debate_id, judge_id)

)

select * from final
