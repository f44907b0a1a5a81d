-- One row per row of original.topic_winrate, whose former name this is.
select * from original.topic_winrate
