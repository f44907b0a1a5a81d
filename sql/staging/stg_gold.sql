-- One row per debate and judged unit: the whole debate or one dimension.
select run_tag, debate_id, unit, label, winner, winning_positions, vote_count as count_votes, metadata from raw.gold
