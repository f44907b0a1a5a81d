-- One row per debate and turn that its judges read: its own turns, or those of the stored debate that is judged again.
select
    run_tag, debate_id, turn_index, position, side, model_id, stage, instruction, content, completion_tokens,
    finish_reason, is_truncated

from staging.stg_turns

union all

select
    sources.run_tag, sources.debate_id, turns.turn_index, turns.position, turns.side, turns.model_id, turns.stage,
    turns.instruction, turns.content, turns.completion_tokens, turns.finish_reason, turns.is_truncated

from intermediate.int_debate_sources as sources

inner join staging.stg_turns as turns
    on sources.source_run_tag = turns.run_tag
    and sources.source_debate_id = turns.debate_id

where sources.run_tag <> sources.source_run_tag or sources.debate_id <> sources.source_debate_id
