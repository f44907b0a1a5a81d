-- One row per judge or annotator, weakness type, and dimension on which it marks the weakened side down most (or `none`).
with

marks as materialized (

    select * from intermediate.int_weakness_marks as weakness_marks

),

trials as (

    select
        run_tag, debate_id, judge_id, is_person,
        count(*) over (partition by run_tag, judge_id, is_person, source_debate_id) as count_trials

    from marks
    group by run_tag, debate_id, judge_id, is_person, source_debate_id

),

totals as (

    select
        run_tag, judge_id, is_person, weakness_type,
        count(distinct source_debate_id) as count_debates

    from marks
    group by run_tag, judge_id, is_person, weakness_type

),

counted as (

    select
        marks.run_tag, marks.judge_id, marks.is_person, marks.method, marks.is_baseline, marks.source_run_tag,
        marks.weakness_type, marks.marked_dimension,
        case when min(marks.weak_dimension) = max(marks.weak_dimension) then min(marks.weak_dimension) end
            as weak_dimension,
        count(distinct marks.source_debate_id) as count_marked,
        cast(sum(cast(marks.mark_rate / trials.count_trials as decimal(38, 18))) as double) as marked

    from marks
    inner join trials using (run_tag, debate_id, judge_id, is_person)
    group by
        marks.run_tag, marks.judge_id, marks.is_person, marks.method, marks.is_baseline, marks.source_run_tag,
        marks.weakness_type, marks.marked_dimension

),

injected as (

    select
        run_tag,
        dimension as marked_dimension,
        list_sort(list(distinct weakness_type)) as weakness_types

    from staging.stg_weaknesses
    group by run_tag, dimension

),

final as (

    select
        counted.run_tag, counted.judge_id, counted.is_person, counted.method, counted.is_baseline,
        counted.source_run_tag, counted.weakness_type, counted.weak_dimension, counted.marked_dimension,
        totals.count_debates, counted.count_marked,
        counted.marked / totals.count_debates as marked_rate,
        counted.marked_dimension = counted.weak_dimension as is_weak_dimension,
        injected.weakness_types as marked_weakness_types

    from counted
    inner join totals using (run_tag, judge_id, is_person, weakness_type)

    left join injected
        on counted.source_run_tag = injected.run_tag
        and counted.marked_dimension = injected.marked_dimension

)

select * from final
