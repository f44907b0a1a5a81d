-- One row per row of original.judge_agreement, whose former name this is.
select * from original.judge_agreement
