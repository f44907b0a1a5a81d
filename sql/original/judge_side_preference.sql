-- One row per judge with a valid verdict in a decided debate of two sides.
select
    run_tag, judge_id,
    count(case when winner = 'pro' then 1 end) as pro,
    count(case when winner = 'con' then 1 end) as con,
    count(case when winner = 'tie' then 1 end) as tie,
    count(*) as total,
    cast(pro as double) / total as pro_rate,
    cast(con as double) / total as con_rate,
    cast(tie as double) / total as tie_rate

from intermediate.int_decided_verdicts
-- Of four teams, the winner is not a side.
where winner in ('pro', 'con', 'tie')
group by run_tag, judge_id
