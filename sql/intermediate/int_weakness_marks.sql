-- One row per judge or annotator, debate with a weakness, and dimension on which it marks the weakened side down most.
with

verdicts as materialized (

    select * from intermediate.int_weakness_verdicts as weakness_verdicts
    where not is_control

),

scored as (

    select distinct
        run_tag, debate_id, judge_id, is_person, method, is_baseline, source_run_tag, source_debate_id, side,
        weakness_type, weak_dimension

    from verdicts
    where dimension <> 'overall'

),

-- Dimensions may have different scales. Without scores, dimensions on which the other side was named are all alike.
lower as (

    select
        verdicts.run_tag, verdicts.debate_id, verdicts.judge_id, verdicts.is_person, verdicts.dimension,
        coalesce(
            round(
                abs(verdicts.pro_score - verdicts.con_score)
                / coalesce(nullif(cast(dimensions.max_score - dimensions.min_score as double), 0), 1),
                9
            ),
            0
        ) as gap

    from verdicts
    left join staging.stg_dimensions as dimensions using (run_tag, dimension)
    where verdicts.dimension <> 'overall' and verdicts.winner <> 'tie' and verdicts.winner <> verdicts.side

),

largest as (

    select
        run_tag, debate_id, judge_id, is_person,
        max(gap) as gap

    from lower
    group by run_tag, debate_id, judge_id, is_person

),

most as (

    select
        run_tag, debate_id, judge_id, is_person, lower.dimension, gap,
        count(*) over (partition by run_tag, debate_id, judge_id, is_person) as count_marked

    from lower
    inner join largest using (run_tag, debate_id, judge_id, is_person, gap)

),

final as (

    select
        run_tag, debate_id, judge_id, is_person, scored.method, scored.is_baseline, scored.source_run_tag,
        scored.source_debate_id, scored.side, scored.weakness_type, scored.weak_dimension,
        coalesce(most.dimension, 'none') as marked_dimension,
        cast(1 as double) / coalesce(most.count_marked, 1) as mark_rate,
        most.gap

    from scored
    left join most using (run_tag, debate_id, judge_id, is_person)

)

select * from final
