-- One row per run with several trials of a stored debate. In any other run, a judge has one verdict on a debate.
with

judged as (

    select distinct run_tag from staging.stg_debates where source_debate_id is not null

),

repeated as (

    select
        run_tag,
        coalesce(source_debate_id, debate_id) as source_debate_id

    from staging.stg_debates
    where run_tag in (select run_tag from judged)
    group by run_tag, coalesce(source_debate_id, debate_id)
    having count(*) > 1

),

final as (

    select distinct run_tag from repeated

)

select * from final
