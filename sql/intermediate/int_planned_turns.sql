-- One row per turn that the debates of a run should have: by its configuration, else as most of them have it.
with

configured as (

    select
        run_tag,
        cast(regexp_extract(part, '^turn ([0-9]+)$', 1) as bigint) - 1 as turn_index,
        value as turn

    from staging.stg_run_settings
    where item = 'rounds' and part like 'turn %' and value is not null

),

-- Counted before runs and debates are joined, because there are many turns and few kinds of them.
held as (

    select
        run_tag, turn_index, side, stage,
        count(*) as count_turns

    from staging.stg_turns
    where stage is not null and run_tag not in (select run_tag from configured)
    group by run_tag, turn_index, side, stage

),

count_debates as (

    select run_tag, count(distinct debate_id) as count_debates from staging.stg_turns group by run_tag

),

usual as (

    select
        held.run_tag, held.turn_index,
        concat(held.side, ' ', held.stage) as turn

    from held
    inner join count_debates using (run_tag)
    where held.count_turns > count_debates.count_debates / 2

),

final as (

    select * from configured
    union all
    select * from usual

)

select * from final
