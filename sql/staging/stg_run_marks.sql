-- One row per run with a mark: what people decided about it.
select run_tag, title, note, is_excluded, pin_number, is_archived

from raw.run_marks
