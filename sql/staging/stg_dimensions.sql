-- One row per scored dimension of a run.
select run_tag, dimension, source_position, min_score, max_score, description from raw.dimensions
