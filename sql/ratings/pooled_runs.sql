-- One row per pool of runs and run in it: a benchmark version pools its runs, and one pool holds all runs that held debates.
with

members as (

    select 'version' as pool_kind, benchmark_version as pool, run_tag, elo_initial_rating, elo_k_factor, created_at
    from staging.stg_runs
    where benchmark_version is not null and source_run_tag is null

    union all

    select 'overall' as pool_kind, 'overall' as pool, run_tag, elo_initial_rating, elo_k_factor, created_at
    from staging.stg_runs
    where source_run_tag is null

),

-- Runs are in the order in which they were made.
final as (

    select
        pool_kind, pool,
        run_tag as pooled_run_tag,
        row_number() over (partition by pool_kind, pool order by created_at nulls last, run_tag) as run_number,
        count(*) over (partition by pool_kind, pool) as count_runs,
        -- The settings of the last run are used for the ratings.
        last_value(elo_initial_rating) over pool_runs as elo_initial_rating,
        last_value(elo_k_factor) over pool_runs as elo_k_factor

    from members
    where run_tag in (select run_tag from ratings.elo)

    window pool_runs as (
        partition by pool_kind, pool
        order by created_at nulls last, run_tag
        rows between unbounded preceding and unbounded following
    )

)

select * from final
