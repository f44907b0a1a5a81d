-- One row per subject of comparisons (a run, or a benchmark version that pools its runs) and run of it.
with

runs as (

    select * from staging.stg_runs

),

final as (

    select
        'run' as kind,
        run_tag as subject,
        run_tag

    from runs

    union all

    select
        'version' as kind,
        benchmark_version as subject,
        run_tag

    from runs

    where benchmark_version is not null

)

select * from final
