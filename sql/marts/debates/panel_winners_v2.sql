-- One row per debate: the side that more verdicts favour than the other.
with

votes as (

    select
        run_tag, debate_id,
        count(case when winner = 'pro' then 1 end) as count_pro,
        count(case when winner = 'con' then 1 end) as count_con,
        count(case when winner = 'tie' then 1 end) as count_tie,
        count(*) as count_verdicts

    from marts.judge_verdicts_v2
    where is_valid
    group by run_tag, debate_id

),

final as (

    select
        debates.run_tag, debates.debate_id,
        case
            when debates.status <> 'complete' or votes.count_verdicts is null then 'no_decision'
            when votes.count_pro > votes.count_con then 'pro'
            when votes.count_pro < votes.count_con then 'con'
            else 'tie'
        end as winner,
        coalesce(votes.count_pro, 0) as count_pro,
        coalesce(votes.count_con, 0) as count_con,
        coalesce(votes.count_tie, 0) as count_tie,
        coalesce(votes.count_verdicts, 0) as count_verdicts

    from staging.stg_debates as debates
    left join votes using (run_tag, debate_id)

)

select * from final
