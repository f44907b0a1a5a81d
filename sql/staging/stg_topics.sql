-- One row per topic of a run.
with

source as (

    select * from raw.topics

),

final as (

    select
        run_tag,
        topic_id,
        source_position,
        motion,
        category,
        info_slide

    from source

)

select * from final
