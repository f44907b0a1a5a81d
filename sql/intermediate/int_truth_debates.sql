-- One row per debate on which people gave a verdict, in its run or in the source of the run.
with

truths as (

    select run_tag, debate_id from staging.stg_gold
    union
    select run_tag, debate_id from staging.stg_annotations where skip_reason is null
    union
    select run_tag, debate_id from intermediate.int_agreed_verdicts where outcome = 'agreed'

),

final as (

    select sources.run_tag, sources.debate_id
    from intermediate.int_debate_sources as sources
    inner join truths on sources.source_run_tag = truths.run_tag and sources.source_debate_id = truths.debate_id

    left join intermediate.int_agreed_verdicts as agreed
        on sources.source_run_tag = agreed.run_tag
        and sources.source_debate_id = agreed.debate_id

    where agreed.is_no_debate is not true
        and sources.run_tag not in (select run_tag from intermediate.int_coherence_checks)

)

select * from final
