-- One row per run: what counts as one observation when the uncertainty of its statistics is computed.
with

-- The run itself, or if it judges debates of another run again, the other run.
sources as (

    select
        run_tag,
        coalesce(source_run_tag, run_tag) as source_run_tag

    from staging.stg_runs

),

-- Two topics are not enough to estimate how topics differ.
units as (

    select
        sources.source_run_tag,
        case when count(distinct debates.topic_id) >= 3 then 'topic' else 'debate' end as cluster_unit

    from sources
    left join staging.stg_debates as debates on sources.run_tag = debates.run_tag and debates.status = 'complete'
    group by sources.source_run_tag

),

final as (

    select sources.run_tag, units.cluster_unit
    from sources
    inner join units using (source_run_tag)

)

select * from final
