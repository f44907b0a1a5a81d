-- One row per statement of a judge on the way to a verdict.
select run_tag, debate_id, judge_id, note_index, step, dimension, turn_index, position, text, score
from staging.stg_judge_notes
