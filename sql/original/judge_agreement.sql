-- One row per unordered pair of judges that sat together.
with

counted_verdicts as materialized (

    select * from intermediate.int_counted_verdicts as counted_verdicts

),

pairs as (

    select
        counted_verdicts.run_tag,
        counted_verdicts.judge_id as judge_a,
        other_verdicts.judge_id as judge_b,
        count(case when counted_verdicts.winner = other_verdicts.winner then 1 end) as agree,
        count(*) as total

    from counted_verdicts

    inner join counted_verdicts as other_verdicts
        on counted_verdicts.run_tag = other_verdicts.run_tag
        and counted_verdicts.debate_id = other_verdicts.debate_id
        and counted_verdicts.judge_id < other_verdicts.judge_id

    group by counted_verdicts.run_tag, counted_verdicts.judge_id, other_verdicts.judge_id

),

final as (

    select
        run_tag, judge_a, judge_b, agree, total,
        cast(agree as double) / total as agreement_rate

    from pairs

)

select * from final
