-- Runs whose winners do not add up to the decided debates of two sides.
with

decided as (

    select
        run_tag,
        count(*) as count_decided

    from marts.decided_debates
    where format = 'two_sided'
    group by run_tag

)

select
    winner_counts.run_tag, decided.count_decided,
    sum(winner_counts.count) as counted

from original.winner_counts
left join decided using (run_tag)
group by winner_counts.run_tag, decided.count_decided
having coalesce(decided.count_decided, 0) <> sum(winner_counts.count)
