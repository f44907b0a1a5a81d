-- Runs whose ratings do not add up to what all debaters started with, but for rounding.
with

elo as (

    select * from ratings.elo

),

runs as (

    select * from staging.stg_runs

),

final as (

    select
        elo.run_tag,
        sum(elo.rating) as total,
        count(*) * runs.elo_initial_rating as expected_total

    from elo

    inner join runs
        on elo.run_tag = runs.run_tag

    group by elo.run_tag, runs.elo_initial_rating

    having abs(sum(elo.rating) - count(*) * runs.elo_initial_rating) > 1e-6 * count(*)

)

select * from final
