-- One row per pool of debates that are rated together (of a version or of all runs, real or simulated) and run in it.
with

counts as (

    select
        pool_kind, pool, is_simulated, pooled_run_tag,
        count(case when not is_repeated then 1 end) as count_games,
        count(case when is_repeated then 1 end) as count_repeated,
        count(*) over (partition by pool_kind, pool, pooled_run_tag) = 1
        and count(case when is_repeated then 1 end) = 0 as is_whole

    from ratings.pooled_games
    group by pool_kind, pool, is_simulated, pooled_run_tag

),

-- Runs are in the order in which they were made.
final as (

    select
        counts.pool_kind, counts.pool, counts.is_simulated, counts.pooled_run_tag,
        row_number() over pool_runs as run_number,
        count(case when counts.count_games > 0 then 1 end) over every_run as count_runs,
        counts.count_games, counts.count_repeated, counts.is_whole,
        -- The settings of the last run with a game are used for the ratings.
        last_value(case when counts.count_games > 0 then runs.elo_initial_rating end ignore nulls) over every_run
            as elo_initial_rating,
        last_value(case when counts.count_games > 0 then runs.elo_k_factor end ignore nulls) over every_run as elo_k_factor

    from counts
    inner join staging.stg_runs as runs on counts.pooled_run_tag = runs.run_tag

    window
        pool_runs as (
            partition by counts.pool_kind, counts.pool, counts.is_simulated
            order by runs.created_at nulls last, counts.pooled_run_tag
        ),
        every_run as (
            partition by counts.pool_kind, counts.pool, counts.is_simulated
            order by runs.created_at nulls last, counts.pooled_run_tag
            rows between unbounded preceding and unbounded following
        )

)

select * from final
