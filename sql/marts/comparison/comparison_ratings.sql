-- One row per subject of comparisons and rated debater.
with

ratings_of_runs as (

    select * from ratings.bradley_terry

),

ratings_of_versions as (

    select * from ratings.bradley_terry_by_version

),

final as (

    select
        'run' as kind,
        run_tag as subject,
        model_id,
        rating,
        ci_low,
        ci_high,
        rank,
        games

    from ratings_of_runs

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

    from ratings_of_versions

)

select * from final
