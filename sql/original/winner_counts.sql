-- One row per run and winner: pro, con and tie, even if no debate was decided.
select
    runs.run_tag, winners.winner,
    -- Of four teams, the winner is not a side.
    count(case when decided_debates.format = 'two_sided' then 1 end) as count

from staging.stg_runs as runs
cross join (values ('pro'), ('con'), ('tie')) as winners (winner)
left join marts.decided_debates using (run_tag, winner)
group by runs.run_tag, winners.winner
