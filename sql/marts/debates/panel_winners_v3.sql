-- One row per debate: the side with more verdicts than the other, where a verdict that flips with the order is a tie.
with

votes as (

    select
        run_tag, debate_id,
        count(case when winner = 'pro' then 1 end) as count_pro,
        count(case when winner = 'con' then 1 end) as count_con,
        count(case when winner = 'tie' then 1 end) as count_tie,
        count(*) as count_valid_verdicts

    from marts.judge_verdicts_v3
    where is_valid
    group by run_tag, debate_id

),

panels as (

    select
        debates.run_tag, debates.debate_id,
        debates.status = 'complete' as is_complete,
        coalesce(votes.count_pro, 0) as count_pro,
        coalesce(votes.count_con, 0) as count_con,
        coalesce(votes.count_tie, 0) as count_tie,
        coalesce(votes.count_valid_verdicts, 0) as count_valid_verdicts

    from staging.stg_debates as debates
    left join votes using (run_tag, debate_id)

),

decided as (

    select
        *,
        list_transform(
            macros.panels_without_one(count_pro, count_con, count_tie),
            lambda panel: case
                when not is_complete or panel.pro + panel.con + panel.tie = 0 then 'no_decision'
                when panel.pro > panel.con then 'pro'
                when panel.pro < panel.con then 'con'
                else 'tie'
            end
        ) as winners

    from panels

),

final as (

    select
        run_tag, debate_id,
        winners[1] as winner,
        count_pro,
        count_con,
        count_tie,
        count_valid_verdicts,
        case when count_pro > 0 then winners[2] end as winner_without_pro,
        case when count_con > 0 then winners[3] end as winner_without_con,
        case when count_tie > 0 then winners[4] end as winner_without_tie

    from decided

)

select * from final
