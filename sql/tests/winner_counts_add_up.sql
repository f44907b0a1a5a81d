-- Runs whose winners do not add up to the decided debates.
select
    runs.run_tag, runs.count_decided,
    sum(winner_counts.count) as counted

from marts.runs
left join marts.winner_counts using (run_tag)
group by runs.run_tag, runs.count_decided
having runs.count_decided <> coalesce(sum(winner_counts.count), 0)
