-- One row per debate: the group that it is taken together with when the uncertainty of a statistic is computed.
with

sources as materialized (

    select
        sources.run_tag, sources.debate_id, sources.source_run_tag, sources.source_debate_id,
        debates.topic_id,
        debates.status = 'complete' as is_complete

    from staging.stg_debates as debates
    inner join intermediate.int_debate_sources as sources using (run_tag, debate_id)

),

-- A run that judges some debates of another one has the unit of the other one.
units as (

    select
        source_run_tag,
        macros.cluster_unit_of(count(distinct case when is_complete then topic_id end)) as cluster_unit

    from sources
    group by source_run_tag

),

-- Trials of one stored debate are the same debate.
final as (

    select
        sources.run_tag, sources.debate_id, sources.source_debate_id, units.cluster_unit,
        macros.cluster_of(sources.topic_id, sources.source_debate_id, units.cluster_unit) as cluster_id

    from sources
    inner join units using (source_run_tag)

)

select * from final
