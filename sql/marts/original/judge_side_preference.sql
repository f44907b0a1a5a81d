-- One row per row of original.judge_side_preference, whose former name this is.
select * from original.judge_side_preference
