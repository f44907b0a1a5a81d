-- One row per pool of runs and rated debate of one of them: a benchmark version pools its runs, and one pool holds all runs.
with

-- Of the runs of a pool that have the same debate, the one that was made first counts it.
copies as (

    select
        members.pool_kind, members.pool, duplicates.run_tag, duplicates.debate_id,
        row_number() over (
            partition by members.pool_kind, members.pool, duplicates.content_id
            order by members.created_at nulls last, members.run_tag
        ) > 1 as is_repeated

    from intermediate.int_pool_members as members
    inner join marts.duplicate_debates as duplicates using (run_tag)

),

final as (

    select
        members.pool_kind, members.pool, games.is_simulated,
        games.run_tag as pooled_run_tag,
        games.debate_id, games.game_number, games.topic_id, games.pro_model_id, games.con_model_id, games.pro_score,
        coalesce(copies.is_repeated, false) as is_repeated

    from intermediate.int_pool_members as members
    inner join marts.games using (run_tag)

    left join copies
        on members.pool_kind = copies.pool_kind
        and members.pool = copies.pool
        and games.run_tag = copies.run_tag
        and games.debate_id = copies.debate_id

)

select * from final
