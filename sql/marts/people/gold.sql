-- One row per debate and judged unit: the whole debate (`winner`) or one dimension.
select run_tag, debate_id, unit, label, winner, winning_positions, count_votes from staging.stg_gold
