-- One row per judge that heard two debates that differ only in which debater was on which side.
select
    run_tag, judge_id,
    cast(sum(count_pairs) as bigint) as count_pairs,
    cast(sum(count_pro_both) as bigint) as count_pro_both,
    cast(sum(count_con_both) as bigint) as count_con_both,
    cast(sum(count_consistent) as bigint) as count_consistent,
    cast(sum(count_consistent) as double) / sum(count_pairs) as consistency_rate

from intermediate.int_judge_mirrored_sums
group by run_tag, judge_id
