-- One row per judge and debate of a run with verdicts of people: what its attempts cost, where every part is known.
with

-- Restricted before it is summed: DuckDB does not move a subquery into a view that groups.
attempts as (

    select run_tag, debate_id, judge_id, prompt_tokens, total_tokens, cost_usd, is_unmetered, is_unpriced
    from intermediate.int_expenses
    where judge_id is not null and run_tag in (select run_tag from intermediate.int_truth_debates)

),

final as (

    select
        run_tag, debate_id, judge_id,
        case when not bool_or(is_unmetered) then cast(sum(prompt_tokens) as bigint) end as prompt_tokens,
        case when not bool_or(is_unmetered) then cast(sum(total_tokens) as bigint) end as total_tokens,
        case when not bool_or(is_unpriced) then sum(cost_usd) end as cost_usd

    from attempts
    group by run_tag, debate_id, judge_id

)

select * from final
