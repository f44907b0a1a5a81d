-- One row per setting of a run that could make its numbers differ from another run's.
with

-- A run that judges stored debates did not hold them: how they were held, its source says.
sources as (

    select
        run_tag, source_run_tag

    from staging.stg_runs
    where source_run_tag in (select run_tag from staging.stg_run_settings)

),

classified as (

    select
        settings.*,
        items.is_of_source
        -- These items are about debaters and about judges.
        and not (settings.item = 'languages' and settings.part = 'judges')
        and not (settings.item in ('prices', 'service_tiers') and settings.part like 'judge %') as is_of_source

    from staging.stg_run_settings as settings
    inner join intermediate.int_setting_items as items using (item)

),

final as (

    select classified.run_tag, classified.item, classified.part, classified.value, classified.is_of_source
    from classified
    left join sources using (run_tag)
    where sources.run_tag is null or not classified.is_of_source

    union all

    select sources.run_tag, classified.item, classified.part, classified.value, classified.is_of_source
    from sources
    inner join classified on sources.source_run_tag = classified.run_tag
    where classified.is_of_source

)

select * from final
