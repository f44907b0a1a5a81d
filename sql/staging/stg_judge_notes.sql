-- One row per statement of a judge on the way to a verdict.
select
    run_tag, debate_id, judge_id, note_index, step, dimension,
    speech as turn_index,
    position, text, score, call_id

from raw.judge_notes
