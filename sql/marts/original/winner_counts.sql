-- One row per row of original.winner_counts, whose former name this is.
select * from original.winner_counts
