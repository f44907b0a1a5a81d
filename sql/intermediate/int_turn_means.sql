-- One row per debater with a turn in a complete debate, and side; means are null for a side that it never played.
with

means as (

    select
        turns.run_tag, turns.model_id, turns.side,
        -- Rounded to nanoseconds, because the last digits of a sum of floats depend on the order of the rows.
        round(avg(turns.duration_ms), 6) as mean_duration_ms,
        avg(turns.prompt_tokens) as mean_prompt_tokens,
        avg(turns.completion_tokens) as mean_completion_tokens,
        cast(sum(turns.cost_usd) as double) / count(turns.cost_usd) as mean_cost_usd,
        count(turns.duration_ms) as count_timed,
        greatest(count(turns.prompt_tokens), count(turns.completion_tokens)) as count_metered,
        count(turns.cost_usd) as count_priced

    from staging.stg_turns as turns
    inner join staging.stg_debates as debates using (run_tag, debate_id)
    where debates.status = 'complete'
    group by turns.run_tag, turns.model_id, turns.side

),

final as (

    select
        means.run_tag, means.model_id, sides.side,
        max(case when means.side = sides.side then means.mean_duration_ms end) as mean_duration_ms,
        max(case when means.side = sides.side then means.mean_prompt_tokens end) as mean_prompt_tokens,
        max(case when means.side = sides.side then means.mean_completion_tokens end) as mean_completion_tokens,
        max(case when means.side = sides.side then means.mean_cost_usd end) as mean_cost_usd,
        max(case when means.side = sides.side then means.count_timed else 0 end) as count_timed,
        max(case when means.side = sides.side then means.count_metered else 0 end) as count_metered,
        max(case when means.side = sides.side then means.count_priced else 0 end) as count_priced

    from means
    cross join (values ('pro'), ('con')) as sides (side)
    group by means.run_tag, means.model_id, sides.side

)

select * from final
