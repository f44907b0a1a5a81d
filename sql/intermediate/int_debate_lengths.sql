-- One row per debate whose turns are known: how much each side spoke, and which side spoke first.
select
    run_tag, debate_id,
    cast(coalesce(sum(case when side = 'pro' then length(content) end), 0) as bigint) as pro_characters,
    cast(coalesce(sum(case when side = 'con' then length(content) end), 0) as bigint) as con_characters,
    arg_min(side, turn_index) as opening_side

from intermediate.int_debate_turns
group by run_tag, debate_id
