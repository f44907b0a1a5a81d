-- One row per subject of comparisons and debate of a run with which another is compared: what identifies it elsewhere.
with

debates as (

    select
        run_tag, debate_id, debates.topic_id, topics.motion, debates.pro_model_id, debates.con_model_id,
        sources.source_run_tag, sources.source_debate_id, debates.trial,
        -- Imports do not number the repetitions of a debate; the order in the source is used instead.
        coalesce(
            debates.repetition,
            row_number() over (
                partition by run_tag, debates.topic_id, debates.pro_model_id, debates.con_model_id, debates.trial
                order by debates.source_position, debate_id
            ) - 1
        ) as repetition,
        decided.winner

    from staging.stg_debates as debates
    inner join intermediate.int_debate_sources as sources using (run_tag, debate_id)
    left join staging.stg_topics as topics using (run_tag, topic_id)
    left join marts.decided_debates as decided using (run_tag, debate_id)
    -- Other runs need not be read.
    where run_tag in (select run_tag from intermediate.int_comparison_sides)

),

final as (

    select members.kind, members.subject, debates.*
    from intermediate.int_comparison_members as members
    inner join debates using (run_tag)

)

select * from final
