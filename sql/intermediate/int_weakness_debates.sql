-- One row per debate with an injected weakness on one side, or without one among debates with weaknesses (a control).
with

injected as (

    select
        run_tag, debate_id,
        count(*) as count_weaknesses,
        min(side) as side,
        min(weakness_type) as weakness_type,
        min(dimension) as dimension

    from staging.stg_weaknesses
    group by run_tag, debate_id

),

runs as (

    select distinct run_tag from injected

),

held as (

    select
        debates.run_tag, debates.debate_id,
        injected.debate_id is null as is_control,
        injected.side, injected.weakness_type, injected.dimension

    from staging.stg_debates as debates
    inner join runs using (run_tag)
    left join injected using (run_tag, debate_id)
    left join intermediate.int_agreed_verdicts as agreed using (run_tag, debate_id)
    where
        debates.format = 'two_sided'
        and agreed.is_no_debate is not true
        and (
            (injected.count_weaknesses = 1 and injected.weakness_type <> 'all')
            or (injected.debate_id is null and debates.is_control)
        )

),

final as (

    select
        sources.run_tag, sources.debate_id, sources.source_run_tag, sources.source_debate_id,
        clusters.cluster_id, clusters.cluster_unit,
        held.is_control, held.side, held.weakness_type,
        held.dimension as weak_dimension

    from intermediate.int_debate_sources as sources

    inner join held
        on sources.source_run_tag = held.run_tag
        and sources.source_debate_id = held.debate_id

    inner join intermediate.int_clusters as clusters
        on sources.run_tag = clusters.run_tag
        and sources.debate_id = clusters.debate_id

    where sources.run_tag not in (select run_tag from intermediate.int_coherence_checks)

)

select * from final
