-- One row per judge with a valid verdict in a decided debate, compared with the panel that includes it.
select
    run_tag, judge_id,
    count(case when winner = panel_winner then 1 end) as matches_majority,
    count(*) as total,
    cast(matches_majority as double) / total as alignment_rate

from intermediate.int_decided_verdicts
group by run_tag, judge_id
