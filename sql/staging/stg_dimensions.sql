-- One row per scored dimension of a run.
select
    run_tag, dimension, source_position, min_score, max_score, step, description, weight, allows_ties, tie_band,
    anchors, by_category

from raw.dimensions
