-- One row per judge and debate: what its attempts cost, failed ones included.
select
    run_tag, debate_id, judge_id,
    sum(cost_usd) as cost_usd,
    cast(sum(prompt_tokens) as bigint) as prompt_tokens,
    cast(sum(completion_tokens) as bigint) as completion_tokens,
    cast(sum(total_tokens) as bigint) as total_tokens,
    count(case when is_unpriced then 1 end) as count_unpriced,
    count(case when is_unmetered then 1 end) as count_unmetered

from intermediate.int_expenses
where judge_id is not null
group by run_tag, debate_id, judge_id
