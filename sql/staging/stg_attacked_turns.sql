-- One row per speech of an attacked copy of a stored debate.
select run_tag, debate_id, turn_index, position, side, stage, content from raw.attacked_turns
