-- One row per statement of a judge on the way to a verdict on an attacked copy of a stored debate.
select
    run_tag, debate_id, judge_id, note_index, step, dimension,
    speech as turn_index,
    position, text, score, call_id

from raw.judge_notes as notes

where
    exists (
        select 1
        from raw.debates as attacked
        where
            attacked.run_tag = notes.run_tag
            and attacked.debate_id = notes.debate_id
            and attacked.attack is not null
    )
