-- One row per turn: what can be seen of its speech without understanding it.
with

settings as (

    select
        run_tag,
        cast(regexp_extract(part, '^turn ([0-9]+)$', 1) as bigint) - 1 as turn_index,
        value as language

    from staging.stg_run_settings
    where item = 'languages' and part like 'turn %'

),

turns as (

    select
        turns.run_tag, turns.debate_id, turns.turn_index, turns.side, turns.stage, turns.content, turns.is_truncated,
        length(turns.content) as characters,
        macros.script_of(coalesce(settings.language, runs.language)) as script

    from staging.stg_turns as turns
    inner join staging.stg_runs as runs using (run_tag)
    left join settings using (run_tag, turn_index)

),

emptiness as (

    select
        *,
        -- Only short speeches are searched.
        case when characters < 100 then not regexp_matches(content, '[\p{L}\p{N}]') else false end as is_empty

    from turns

),

final as (

    select
        run_tag, debate_id, turn_index, side, stage, content, characters, is_empty,
        characters < 100 and not is_empty as is_short,
        is_truncated,
        case
            when script is null then null
            -- Letters of another script than Latin have at least one byte more than characters. Few speeches have
            -- enough of these bytes to be searched, which takes ten times as long.
            when script = 'Latin' and strlen(content) - characters <= characters * 0.3 then false
            else macros.foreign_letters(content, script) > characters * 0.3
        end as is_other_script

    from emptiness

)

select * from final
