-- One row per judge that heard two debates that differ only in which debater was on which side.
with

counts as (

    select
        run_tag, judge_id,
        cast(sum(count_pairs) as bigint) as count_pairs,
        cast(sum(count_pro_both) as bigint) as count_pro_both,
        cast(sum(count_con_both) as bigint) as count_con_both,
        cast(sum(count_consistent) as bigint) as count_consistent

    from intermediate.int_judge_mirrored_sums as judge_mirrored_sums
    group by run_tag, judge_id

),

final as (

    select
        *,
        cast(count_consistent as double) / count_pairs as consistency_rate

    from counts

)

select * from final
