-- One row per rated debate that several runs or imports have: the same speeches by the same debaters at the same time.
with

-- Most debates have no matchup in common with another run, so their times need not be compared.
shared_matchups as (

    select topic_id, pro_model_id, con_model_id
    from ratings.matchups
    group by topic_id, pro_model_id, con_model_id
    having min(run_tag) <> max(run_tag)

),

held_games as materialized (

    select
        games.run_tag, games.debate_id, games.topic_id, games.pro_model_id, games.con_model_id,
        coalesce(date_trunc('second', debates.created_at), cast('1970-01-01' as timestamp)) as held_at

    from marts.games
    inner join staging.stg_debates as debates using (run_tag, debate_id)

    where
        debates.source_debate_id is null
        and exists (
            select 1
            from shared_matchups
            where
                shared_matchups.topic_id = games.topic_id
                and shared_matchups.pro_model_id = games.pro_model_id
                and shared_matchups.con_model_id = games.con_model_id
        )

),

-- Few debates have a debate like this in another run, so few speeches must be compared.
shared as (

    select topic_id, pro_model_id, con_model_id, held_at
    from held_games
    group by topic_id, pro_model_id, con_model_id, held_at
    having min(run_tag) <> max(run_tag)

),

candidates as materialized (

    select held_games.*
    from held_games
    inner join shared using (topic_id, pro_model_id, con_model_id, held_at)

),

contents as (

    select
        candidates.run_tag, candidates.debate_id, candidates.topic_id, candidates.pro_model_id,
        candidates.con_model_id, candidates.held_at,
        md5(array_to_string(list_sort(list(concat(turns.turn_index, ' ', turns.side, ' ', turns.content))), ' '))
            as content

    from candidates
    inner join staging.stg_turns as turns using (run_tag, debate_id)
    group by
        candidates.run_tag,
        candidates.debate_id,
        candidates.topic_id,
        candidates.pro_model_id,
        candidates.con_model_id,
        candidates.held_at

),

-- A run may hold two debates with the same words; the second is the same as the second of another run.
numbered as (

    select
        run_tag, debate_id,
        md5(
            concat_ws(
                ' ',
                topic_id,
                pro_model_id,
                con_model_id,
                held_at,
                content,
                row_number() over (
                    partition by run_tag, topic_id, pro_model_id, con_model_id, held_at, content
                    order by debate_id
                )
            )
        ) as content_id

    from contents

),

final as (

    select
        numbered.run_tag, numbered.debate_id, numbered.content_id,
        first_value(numbered.run_tag) over copies as first_run_tag,
        first_value(numbered.debate_id) over copies as first_debate_id,
        row_number() over copies > 1 as is_repeated

    from numbered
    inner join staging.stg_runs as runs using (run_tag)

    window copies as (
        partition by numbered.content_id
        order by runs.created_at nulls last, numbered.run_tag
    )

    qualify count(*) over (partition by numbered.content_id) > 1

)

select * from final
