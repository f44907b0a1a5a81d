-- Turns whose tokens or cost are not those of the answer that became the turn.
select
    turns.run_tag, turns.debate_id, turns.turn_index,
    turns.cost_usd as turn_cost_usd,
    expenses.cost_usd as answer_cost_usd,
    turns.total_tokens as turn_tokens,
    expenses.total_tokens as answer_tokens

from staging.stg_turns as turns
inner join intermediate.int_expenses as expenses using (run_tag, debate_id, turn_index)
where
    expenses.purpose = 'turn'
    and (
        turns.cost_usd is distinct from expenses.cost_usd
        or turns.total_tokens is distinct from expenses.total_tokens
    )
