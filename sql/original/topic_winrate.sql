-- One row per topic with a decided debate of two sides.
select
    run_tag, topic_id,
    count(case when winner = 'pro' then 1 end) as pro_wins,
    count(case when winner = 'con' then 1 end) as con_wins,
    count(case when winner = 'tie' then 1 end) as ties,
    count(*) as total

from marts.decided_debates
-- Of four teams, the winner is not a side.
where format = 'two_sided'
group by run_tag, topic_id
