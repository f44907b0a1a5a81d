-- One row per run, judge left out and debater that still has a rated debate; formerly a table of its own.
select
    run_tag,
    left_out as judge_id,
    model_id, is_simulated, rating, rank, games, rating_change, places_gained, is_separated

from ratings.bradley_terry_left_out
where kind = 'judge'
