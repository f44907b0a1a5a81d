-- One row per debate: the group that it is taken together with when the uncertainty of a statistic is computed.
with

-- Trials of one stored debate are the same debate.
debates as (

    select
        run_tag, debate_id, topic_id,
        coalesce(source_debate_id, debate_id) as source_debate_id

    from staging.stg_debates

),

final as (

    select
        debates.run_tag, debates.debate_id, debates.source_debate_id, units.cluster_unit,
        case units.cluster_unit when 'topic' then debates.topic_id else debates.source_debate_id end as cluster_id

    from debates
    inner join intermediate.int_cluster_units as units using (run_tag)

)

select * from final
