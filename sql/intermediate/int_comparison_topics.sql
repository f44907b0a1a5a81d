-- One row per pair of subjects, debater or judge, measure and topic: the totals of both, and of the pairs among them.
with

-- Rows are grouped and joined faster by numbers than by the texts of a pair.
sides as (

    select
        *,
        dense_rank() over (order by baseline_kind, baseline, candidate_kind, candidate) as pair_number,
        dense_rank() over (
            order by
                case when side = 'baseline' then baseline_kind else candidate_kind end,
                case when side = 'baseline' then baseline else candidate end
        ) as subject_number

    from intermediate.int_comparison_sides

),

pairs as (

    select
        pair_number, baseline_kind, baseline, candidate_kind, candidate,
        max(case when side = 'baseline' then subject_number end) as baseline_number,
        max(case when side = 'candidate' then subject_number end) as candidate_number

    from sides
    group by pair_number, baseline_kind, baseline, candidate_kind, candidate

),

subject_runs as (

    select distinct subject_number, run_tag from sides

),

sums as (

    select
        run_tag,
        'debater' as role,
        model_id as member_id,
        measure, dimension, topic_id, pro_model_id, con_model_id, count_debates, total

    from intermediate.int_debater_sums

    union all

    select
        run_tag,
        'judge' as role,
        member_id, measure,
        '' as dimension,
        topic_id, pro_model_id, con_model_id, count_debates, total

    from intermediate.int_judging_sums

),

-- What does not depend on the other subject is added up once per subject, not once per pair. A topic with a different
-- motion is a different topic, even if the id is the same.
cells as materialized (

    select
        subject_runs.subject_number, sums.role, sums.member_id, sums.measure, sums.dimension, sums.topic_id,
        sums.pro_model_id, sums.con_model_id,
        coalesce(topics.motion, '') as motion,
        cast(sum(sums.count_debates) as bigint) as count_debates,
        sum(sums.total) as total

    from subject_runs
    inner join sums using (run_tag)
    left join staging.stg_topics as topics using (run_tag, topic_id)
    group by
        subject_runs.subject_number, sums.role, sums.member_id, sums.measure, sums.dimension, sums.topic_id,
        sums.pro_model_id, sums.con_model_id, coalesce(topics.motion, '')

),

topic_sums as (

    select
        subject_number, role, member_id, measure, dimension, topic_id, motion,
        cast(sum(count_debates) as bigint) as count_debates,
        sum(total) as total

    from cells
    group by subject_number, role, member_id, measure, dimension, topic_id, motion

),

-- Repetitions of a debate are averaged, so that a pair counts once, however often each subject held the debate.
cell_means as (

    select
        role, member_id, measure, dimension, topic_id, motion,
        list(
            {
                'subject_number': subject_number,
                'mean': cast(cast(total as double) / count_debates as decimal(38, 12))
            }
        ) as means

    from cells
    group by role, member_id, measure, dimension, topic_id, motion, pro_model_id, con_model_id

),

first_means as (

    select
        *,
        unnest(means) as one

    from cell_means

),

both_means as (

    select
        role, member_id, measure, dimension, topic_id, motion, one,
        unnest(means) as other

    from first_means

),

-- Two subjects are compared in both directions, but added up once.
paired_sums as (

    select
        one.subject_number as one_number,
        other.subject_number as other_number,
        role, member_id, measure, dimension, topic_id, motion,
        count(*) as count_pairs,
        sum(one.mean) as one_total,
        sum(other.mean) as other_total

    from both_means
    where one.subject_number < other.subject_number

    group by
        one.subject_number, other.subject_number, role, member_id, measure, dimension, topic_id, motion

),

pair_parts as (

    select
        pairs.pair_number, topic_sums.role, topic_sums.member_id, topic_sums.measure, topic_sums.dimension,
        topic_sums.topic_id, topic_sums.motion,
        case when topic_sums.subject_number = pairs.baseline_number then topic_sums.count_debates end
            as count_baseline_debates,
        case when topic_sums.subject_number = pairs.candidate_number then topic_sums.count_debates end
            as count_candidate_debates,
        case when topic_sums.subject_number = pairs.baseline_number then topic_sums.total end as baseline_total,
        case when topic_sums.subject_number = pairs.candidate_number then topic_sums.total end as candidate_total,
        cast(0 as bigint) as count_pairs,
        cast(null as decimal(38, 12)) as paired_baseline_total,
        cast(null as decimal(38, 12)) as paired_candidate_total

    from topic_sums
    inner join (select distinct pair_number, subject_number from sides) as sides using (subject_number)
    inner join pairs using (pair_number)

    union all

    select
        pairs.pair_number, paired_sums.role, paired_sums.member_id, paired_sums.measure, paired_sums.dimension,
        paired_sums.topic_id, paired_sums.motion,
        null, null, null, null, paired_sums.count_pairs,
        case when directions.is_forward then paired_sums.one_total else paired_sums.other_total end,
        case when directions.is_forward then paired_sums.other_total else paired_sums.one_total end

    from paired_sums
    cross join (values (true), (false)) as directions (is_forward)

    inner join pairs
        on case when directions.is_forward then paired_sums.one_number else paired_sums.other_number end
        = pairs.baseline_number
        and case when directions.is_forward then paired_sums.other_number else paired_sums.one_number end
        = pairs.candidate_number

),

pair_sums as (

    select
        pair_number, role, member_id, measure, dimension, topic_id, motion,
        max(count_baseline_debates) as count_baseline_debates,
        max(count_candidate_debates) as count_candidate_debates,
        max(baseline_total) as baseline_total,
        max(candidate_total) as candidate_total,
        max(count_pairs) as count_pairs,
        max(paired_baseline_total) as paired_baseline_total,
        max(paired_candidate_total) as paired_candidate_total

    from pair_parts
    group by pair_number, role, member_id, measure, dimension, topic_id, motion

),

final as (

    select
        pairs.baseline_kind, pairs.baseline, pairs.candidate_kind, pairs.candidate,
        pair_sums.* exclude (pair_number)

    from pair_sums
    inner join pairs using (pair_number)

)

select * from final
