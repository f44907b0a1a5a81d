-- One row per run, category left out and debater that still has a rated debate; formerly a table of its own.
select
    run_tag,
    left_out as category,
    model_id, is_simulated, rating, rank, games, rating_change, places_gained, is_separated

from ratings.bradley_terry_left_out
where kind = 'category'
