-- One row per debater of a run: its rating, adjusted for side and length.
select
    run_tag, model_id, is_simulated,
    value as rating,
    ci_low,
    ci_high,
    macros.shared_rank(value, run_tag) as rank,
    games,
    interval_method,
    is_separated

from ratings.bradley_terry_terms
where term = 'debater'
