-- One row per debate that its panel decided: the group that it is left out with when intervals about judges are computed.
with

decided_debates as materialized (

    select * from marts.decided_debates where not is_forfeit

),

topic_counts as (

    select
        run_tag,
        count(distinct topic_id) as count_topics

    from decided_debates
    group by run_tag

),

final as (

    select
        decided_debates.run_tag, decided_debates.debate_id,
        -- Trials of one stored debate are the same debate.
        macros.cluster_of(decided_debates.topic_id, sources.source_debate_id, topic_counts.count_topics) as cluster_id

    from decided_debates
    inner join topic_counts using (run_tag)
    inner join intermediate.int_debate_sources as sources using (run_tag, debate_id)

)

select * from final
