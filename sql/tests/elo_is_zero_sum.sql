-- Runs whose ratings do not add up to the initial ratings of all debaters, except for rounding.
select
    elo.run_tag,
    sum(elo.rating) as total,
    count(*) * runs.elo_initial_rating as expected_total

from ratings.elo
inner join staging.stg_runs as runs using (run_tag)
group by elo.run_tag, runs.elo_initial_rating
having abs(sum(elo.rating) - count(*) * runs.elo_initial_rating) > 1e-6 * count(*)
