-- One row per debate with a truth, in its run or in the source of the run.
with

truths as (

    select distinct run_tag, debate_id from marts.truths

),

final as (

    select sources.run_tag, sources.debate_id
    from intermediate.int_debate_sources as sources
    inner join truths on sources.source_run_tag = truths.run_tag and sources.source_debate_id = truths.debate_id
    where sources.run_tag not in (select run_tag from intermediate.int_coherence_checks)

)

select * from final
