-- One row per run and kind of what does not count in its results, and per judge without a valid verdict.
with

judges as (

    select
        run_tag, judge_id,
        count(case when not is_valid then 1 end) as count_left_out,
        count(*) as count_all

    from marts.judge_verdicts
    group by run_tag, judge_id

),

placed as (

    select
        *,
        row_number() over (partition by run_tag order by count_left_out desc, judge_id) as place

    from judges
    where count_left_out > 0

),

named as (

    select
        run_tag,
        concat(
            string_agg(
                case when place <= 5 then concat(judge_id, ': ', count_left_out, ' of ', count_all) end, ', '
                order by place
            ),
            case when count(*) > 5 then concat(', and ', count(*) - 5, macros.by_number(count(*) - 5, ' more judge', ' more judges')) end
        ) as names

    from placed
    group by run_tag

),

left_out as (

    select
        judges.run_tag,
        'invalid_verdicts' as kind,
        '' as judge_id,
        cast(sum(judges.count_left_out) as bigint) as count_left_out,
        cast(sum(judges.count_all) as bigint) as count_all,
        any_value(named.names) as detail

    from judges
    inner join named using (run_tag)
    group by judges.run_tag

    union all

    select
        run_tag,
        'silent_judge' as kind,
        judge_id, count_left_out, count_all,
        judge_id as detail

    from judges
    where count_left_out = count_all

    union all

    select
        run_tag, kind,
        '' as judge_id,
        count_left_out, count_all, detail

    from intermediate.int_left_out_counts as left_out_counts
    where count_left_out > 0

),

final as (

    select
        run_tag, kind, judge_id, count_left_out, count_all,
        kind = 'silent_judge' as is_warning,
        macros.left_out_text(kind, count_left_out, count_all, detail) as explanation

    from left_out

)

select * from final
order by run_tag, kind, judge_id
