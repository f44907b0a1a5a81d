-- One row per unordered pair of judges that sat together.
with

decided_verdicts as materialized (

    select * from intermediate.int_decided_verdicts as decided_verdicts

),

final as (

    select
        decided_verdicts.run_tag,
        decided_verdicts.judge_id as judge_a,
        other_verdicts.judge_id as judge_b,
        count(case when decided_verdicts.winner = other_verdicts.winner then 1 end) as agree,
        count(*) as total,
        cast(agree as double) / total as agreement_rate

    from decided_verdicts

    inner join decided_verdicts as other_verdicts
        on decided_verdicts.run_tag = other_verdicts.run_tag
        and decided_verdicts.debate_id = other_verdicts.debate_id
        and decided_verdicts.judge_id < other_verdicts.judge_id

    group by decided_verdicts.run_tag, decided_verdicts.judge_id, other_verdicts.judge_id

)

select * from final
