-- One row per pool of runs and rated debate of one of them: a benchmark version pools its runs, and one pool holds all runs.
with

-- A run that judges the debates of another run has none of its own.
members as (

    select 'version' as pool_kind, benchmark_version as pool, run_tag, created_at
    from staging.stg_runs
    where benchmark_version is not null and source_run_tag is null

    union all

    select 'overall' as pool_kind, 'overall' as pool, run_tag, created_at
    from staging.stg_runs
    where source_run_tag is null

),

-- Of the runs of a pool that have the same debate, the one that was made first counts it.
copies as (

    select
        members.pool_kind, members.pool, duplicates.run_tag, duplicates.debate_id,
        row_number() over (
            partition by members.pool_kind, members.pool, duplicates.content_id
            order by members.created_at nulls last, members.run_tag
        ) > 1 as is_repeated

    from members
    inner join marts.duplicate_debates as duplicates using (run_tag)

),

final as (

    select
        members.pool_kind, members.pool, games.is_simulated,
        games.run_tag as pooled_run_tag,
        games.debate_id, games.game_number, games.topic_id, games.pro_model_id, games.con_model_id, games.pro_score,
        coalesce(copies.is_repeated, false) as is_repeated

    from members
    inner join marts.games using (run_tag)

    left join copies
        on members.pool_kind = copies.pool_kind
        and members.pool = copies.pool
        and games.run_tag = copies.run_tag
        and games.debate_id = copies.debate_id

)

select * from final
