-- One row per debate with turns of its own: how many of its speeches have which fault.
with

plans as (

    select run_tag, count(*) as count_planned_turns from intermediate.int_planned_turns group by run_tag

),

final as (

    select
        speeches.run_tag, speeches.debate_id, plans.count_planned_turns,
        count(*) as count_turns,
        count(case when concat(speeches.side, ' ', speeches.stage) = planned.turn then 1 end) as count_turns_as_planned,
        count(distinct speeches.side) as count_speaking_sides,
        count(case when speeches.is_empty then 1 end) as count_empty_speeches,
        count(case when speeches.is_short then 1 end) as count_short_speeches,
        count(case when speeches.is_truncated then 1 end) as count_cut_speeches,
        count(case when not speeches.is_empty then 1 end)
        - count(distinct case when not speeches.is_empty then speeches.content end) as count_repeated_speeches,
        count(case when speeches.is_other_script then 1 end) as count_foreign_speeches,
        cast(sum(speeches.characters) as bigint) as characters

    from intermediate.int_checked_speeches as speeches

    left join intermediate.int_planned_turns as planned
        on speeches.run_tag = planned.run_tag
        and speeches.turn_index = planned.turn_index

    left join plans on speeches.run_tag = plans.run_tag
    group by speeches.run_tag, speeches.debate_id, plans.count_planned_turns

)

select * from final
