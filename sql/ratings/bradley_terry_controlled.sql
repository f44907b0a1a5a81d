-- One row per debater of a run: its rating, adjusted for side and length.
select
    run_tag, model_id,
    value as rating,
    ci_low,
    ci_high,
    row_number() over (partition by run_tag order by value desc, model_id) as rank,
    games,
    interval_method,
    is_separated

from ratings.bradley_terry_terms
where term = 'debater'
