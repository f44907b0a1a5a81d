-- One row per debater with a metered turn, and side; a side that it never played has no mean and no samples.
select
    run_tag, model_id, side, mean_prompt_tokens, mean_completion_tokens,
    count_metered as samples

from intermediate.int_turn_means
qualify sum(count_metered) over (partition by run_tag, model_id) > 0
