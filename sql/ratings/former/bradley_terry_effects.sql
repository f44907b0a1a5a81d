-- One row per run and effect; formerly a table of its own.
select
    run_tag,
    term as effect,
    is_simulated, value, ci_low, ci_high, reason, length_sd, games, interval_method, is_separated

from ratings.bradley_terry_terms
where term <> 'debater'
