-- One row per subject of comparisons and rated debater.
select
    'run' as kind,
    run_tag as subject,
    model_id,
    rating,
    ci_low,
    ci_high,
    rank,
    games

from ratings.bradley_terry

union all

select
    'version' as kind,
    benchmark_version as subject,
    model_id,
    rating,
    ci_low,
    ci_high,
    rank,
    games

from ratings.bradley_terry_by_version
