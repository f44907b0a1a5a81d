-- One row per debate with turns of its own: how many of its speeches have which fault.
with

-- The script is known before there is a row per turn.
runs as (

    select
        run_tag,
        macros.script_of(language) as script

    from staging.stg_runs

),

settings as (

    select
        run_tag,
        cast(regexp_extract(part, '^turn ([0-9]+)$', 1) as bigint) - 1 as turn_index,
        macros.script_of(value) as script

    from staging.stg_run_settings
    where item = 'languages' and part like 'turn %' and value is not null

),

turns as (

    select
        turns.run_tag, turns.debate_id, turns.turn_index, turns.side, turns.position, turns.stage, turns.content,
        turns.is_truncated,
        length(turns.content) as characters,
        case when settings.run_tag is not null then settings.script else runs.script end as script

    from staging.stg_turns as turns
    inner join runs using (run_tag)
    left join settings using (run_tag, turn_index)

),

emptiness as (

    select
        *,
        -- Only short speeches are searched.
        case when characters < 100 then not regexp_matches(content, '[\p{L}\p{N}]') else false end as is_empty

    from turns

),

checked as (

    select
        run_tag, debate_id, turn_index, side, position, stage, content, characters, is_empty,
        characters < 100 and not is_empty as is_short,
        is_truncated, case
            when script is null then null
            -- Letters of another script than Latin have at least one byte more than characters. Few speeches have
            -- enough of these bytes to be searched, which takes ten times as long.
            when script = 'Latin' and strlen(content) - characters <= characters * 0.3 then false
            else macros.foreign_letters(content, script) > characters * 0.3
        end as is_other_script

    from emptiness

),

plans as (

    select run_tag, count(*) as count_planned_turns from intermediate.int_planned_turns group by run_tag

),

final as (

    select
        speeches.run_tag, speeches.debate_id, plans.count_planned_turns,
        count(*) as count_turns,
        -- A turn of four teams is `OG prime minister`.
        count(
            case
                when concat(speeches.side, ' ', speeches.stage) = planned.turn then 1
                when concat(speeches.position, ' ', speeches.stage) = planned.turn then 1
            end
        ) as count_turns_as_planned,
        -- Cheaper than different values, which are kept for each debate.
        cast(
            max(case when speeches.side = 'pro' then 1 else 0 end) + max(case when speeches.side = 'con' then 1 else 0 end)
            as bigint
        ) as count_speaking_sides,
        count(case when speeches.is_empty then 1 end) as count_empty_speeches,
        count(case when speeches.is_short then 1 end) as count_short_speeches,
        count(case when speeches.is_truncated then 1 end) as count_cut_speeches,
        -- Hashes of 64 bits stand for the texts, which are long. A debate has too few for two to be equal by chance.
        cast(
            count(case when not speeches.is_empty then 1 end)
            - list_unique(list(case when not speeches.is_empty then hash(speeches.content) end)) as bigint
        ) as count_repeated_speeches,
        count(case when speeches.is_other_script then 1 end) as count_foreign_speeches,
        cast(sum(speeches.characters) as bigint) as characters

    from checked as speeches

    left join intermediate.int_planned_turns as planned
        on speeches.run_tag = planned.run_tag
        and speeches.turn_index = planned.turn_index

    left join plans on speeches.run_tag = plans.run_tag
    group by speeches.run_tag, speeches.debate_id, plans.count_planned_turns

)

select * from final
