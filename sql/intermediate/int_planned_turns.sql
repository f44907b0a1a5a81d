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

count_debates as (

    select run_tag, count(distinct debate_id) as count_debates from staging.stg_turns group by run_tag

),

usual as (

    select
        turns.run_tag, turns.turn_index,
        concat(turns.side, ' ', turns.stage) as turn

    from staging.stg_turns as turns
    inner join count_debates using (run_tag)
    where turns.stage is not null and turns.run_tag not in (select run_tag from configured)
    group by turns.run_tag, turns.turn_index, turn, count_debates.count_debates
    having count(*) > count_debates.count_debates / 2

),

final as (

    select * from configured
    union all
    select * from usual

)

select * from final
