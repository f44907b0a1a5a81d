-- One row per scored dimension of a run.
with

source as (

    select * from raw.dimensions

),

final as (

    select
        run_tag,
        dimension,
        source_position,
        min_score,
        max_score,
        description

    from source

)

select * from final
