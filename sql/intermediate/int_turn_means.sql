-- One row per debater with a turn in a complete debate, and side; means are null for a side that it never played.
with

counted_turns as (

    select turns.*
    from staging.stg_turns as turns
    inner join staging.stg_debates as debates using (run_tag, debate_id)
    where debates.status = 'complete'

),

debater_sides as (

    select distinct counted_turns.run_tag, counted_turns.model_id, sides.side
    from counted_turns
    cross join (values ('pro'), ('con')) as sides (side)

),

means as (

    select
        run_tag, model_id, side,
        -- Rounded to nanoseconds, because the last digits of a sum of floats depend on the order of the rows.
        round(avg(duration_ms), 6) as mean_duration_ms,
        avg(prompt_tokens) as mean_prompt_tokens,
        avg(completion_tokens) as mean_completion_tokens,
        cast(sum(cost_usd) as double) / count(cost_usd) as mean_cost_usd,
        count(duration_ms) as count_timed,
        greatest(count(prompt_tokens), count(completion_tokens)) as count_metered,
        count(cost_usd) as count_priced

    from counted_turns
    group by run_tag, model_id, side

),

final as (

    select
        debater_sides.run_tag, debater_sides.model_id, debater_sides.side, means.mean_duration_ms,
        means.mean_prompt_tokens, means.mean_completion_tokens, means.mean_cost_usd,
        coalesce(means.count_timed, 0) as count_timed,
        coalesce(means.count_metered, 0) as count_metered,
        coalesce(means.count_priced, 0) as count_priced

    from debater_sides
    left join means using (run_tag, model_id, side)

)

select * from final
