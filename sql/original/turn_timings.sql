-- One row per debater with a timed turn, and side; a side that it never played has no mean and no samples.
select
    run_tag, model_id, side,
    mean_duration_ms as mean_ms,
    count_timed as samples

from intermediate.int_turn_means
qualify sum(count_timed) over (partition by run_tag, model_id) > 0
