-- One row per trial of a stored debate that its run holds several times.
with

debates as (

    select
        run_tag, debate_id,
        coalesce(source_debate_id, debate_id) as source_debate_id

    from staging.stg_debates
    -- A run of its own debates has each of them once.
    where run_tag in (select run_tag from staging.stg_debates where source_debate_id is not null)

),

repeated as (

    select run_tag, source_debate_id
    from debates
    group by run_tag, source_debate_id
    having count(*) > 1

),

final as (

    select debates.run_tag, debates.debate_id, debates.source_debate_id
    from debates
    inner join repeated using (run_tag, source_debate_id)

)

select * from final
