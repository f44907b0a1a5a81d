-- One row per debater with a timed turn, and side; a side that it never played has no mean and no samples.
with

turn_means as materialized (

    select * from intermediate.int_turn_means

),

timed_debaters as (

    select run_tag, model_id
    from turn_means
    where count_timed > 0
    group by run_tag, model_id

),

final as (

    select
        turn_means.run_tag, turn_means.model_id, turn_means.side,
        turn_means.mean_duration_ms as mean_ms,
        turn_means.count_timed as samples

    from turn_means
    inner join timed_debaters using (run_tag, model_id)

)

select * from final
