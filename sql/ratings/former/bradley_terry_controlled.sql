-- One row per debater of a run; formerly a table of its own.
select
    run_tag, model_id, is_simulated,
    value as rating,
    ci_low, ci_high, rank, games, interval_method, is_separated

from ratings.bradley_terry_terms
where term = 'debater'
