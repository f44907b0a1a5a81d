-- One row per row of original.judge_majority_alignment, whose former name this is.
select * from original.judge_majority_alignment
