-- One row per debater with a priced turn, and side; a side that it never played has no mean and no samples.
select
    run_tag, model_id, side, mean_cost_usd,
    count_priced as samples

from intermediate.int_turn_means
qualify sum(count_priced) over (partition by run_tag, model_id) > 0
