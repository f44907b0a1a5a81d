-- One row per run and winner: pro, con and tie, even if no debate was decided.
with

winners as (

    select 'pro' as winner
    union all
    select 'con' as winner
    union all
    select 'tie' as winner

),

counts as (

    select
        run_tag, winner,
        count(*) as count

    from marts.decided_debates
    -- Of four teams, the winner is not a side.
    where format = 'two_sided'
    group by run_tag, winner

),

final as (

    select
        runs.run_tag, winners.winner,
        coalesce(counts.count, 0) as count

    from staging.stg_runs as runs
    cross join winners
    left join counts using (run_tag, winner)

)

select * from final
