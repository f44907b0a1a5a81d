-- One row per subject of comparisons and debate: the columns that identify the same debate in another run.
with

debates_of_runs as (

    select
        debates.run_tag, debates.debate_id, debates.topic_id, topics.motion, debates.pro_model_id,
        debates.con_model_id, sources.source_run_tag, sources.source_debate_id, debates.trial,
        -- Imports do not number the repetitions of a debate; the order in the source is used instead.
        coalesce(
            debates.repetition,
            row_number() over (
                partition by
                    debates.run_tag, debates.topic_id, debates.pro_model_id, debates.con_model_id, debates.trial
                order by debates.source_position, debates.debate_id
            ) - 1
        ) as repetition

    from staging.stg_debates as debates
    inner join intermediate.int_debate_sources as sources using (run_tag, debate_id)
    left join staging.stg_topics as topics using (run_tag, topic_id)

),

final as (

    select
        'run' as kind,
        run_tag as subject,
        *

    from debates_of_runs

    union all

    select
        'version' as kind,
        members.pool as subject,
        debates_of_runs.*

    from debates_of_runs
    inner join intermediate.int_pool_members as members using (run_tag)
    where members.pool_kind = 'version'

)

select * from final
