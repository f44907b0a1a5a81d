-- One row per pair of subjects, debater or judge, measure and topic: the totals of both, and of the pairs among them.
with

-- A topic with a different motion is a different topic, even if the id is the same.
cells as (

    select
        sides.baseline_kind, sides.baseline, sides.candidate_kind, sides.candidate, measure_sums.role,
        measure_sums.member_id, measure_sums.measure, measure_sums.dimension, measure_sums.topic_id,
        measure_sums.pro_model_id, measure_sums.con_model_id,
        coalesce(topics.motion, '') as motion,
        cast(sum(case when sides.side = 'baseline' then measure_sums.count_debates end) as bigint)
            as count_baseline_debates,
        cast(sum(case when sides.side = 'candidate' then measure_sums.count_debates end) as bigint)
            as count_candidate_debates,
        sum(case when sides.side = 'baseline' then measure_sums.total end) as baseline_total,
        sum(case when sides.side = 'candidate' then measure_sums.total end) as candidate_total

    from intermediate.int_comparison_sides as sides
    inner join intermediate.int_measure_sums as measure_sums using (run_tag)
    left join staging.stg_topics as topics using (run_tag, topic_id)

    group by all

),

-- Repetitions of a debate are averaged, so that a pair counts once, however often each subject held the debate.
final as (

    select
        baseline_kind, baseline, candidate_kind, candidate, role, member_id, measure, dimension, topic_id, motion,
        cast(sum(count_baseline_debates) as bigint) as count_baseline_debates,
        cast(sum(count_candidate_debates) as bigint) as count_candidate_debates,
        sum(baseline_total) as baseline_total,
        sum(candidate_total) as candidate_total,
        count(baseline_total + candidate_total) as count_pairs,
        sum(
            case when candidate_total is not null then
                cast(cast(baseline_total as double) / count_baseline_debates as decimal(38, 12))
            end
        ) as paired_baseline_total,
        sum(
            case when baseline_total is not null then
                cast(cast(candidate_total as double) / count_candidate_debates as decimal(38, 12))
            end
        ) as paired_candidate_total

    from cells

    group by
        baseline_kind, baseline, candidate_kind, candidate, role, member_id, measure, dimension, topic_id, motion

)

select * from final
