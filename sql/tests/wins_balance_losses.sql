-- Runs in which debaters won more or fewer rated debates than debaters lost.
select
    run_tag,
    sum(wins) as wins,
    sum(losses) as losses

from ratings.elo
group by run_tag
having sum(wins) <> sum(losses)
