-- Runs whose rated debates have more or fewer wins than losses.
select
    run_tag,
    sum(wins) as wins,
    sum(losses) as losses

from ratings.elo
group by run_tag
having sum(wins) <> sum(losses)
