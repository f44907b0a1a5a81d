-- One row per pool of runs (a benchmark version, or all runs) and run whose debates count in it.
with

-- A run that judges the debates of another run has none of its own.
members as (

    select runs.run_tag, runs.benchmark_version, runs.created_at
    from staging.stg_runs as runs
    left join staging.stg_run_marks as marks using (run_tag)
    where runs.source_run_tag is null and not coalesce(marks.is_excluded, false)

),

final as (

    select 'version' as pool_kind, benchmark_version as pool, run_tag, created_at
    from members
    where benchmark_version is not null

    union all

    select 'overall' as pool_kind, 'overall' as pool, run_tag, created_at
    from members

)

select * from final
