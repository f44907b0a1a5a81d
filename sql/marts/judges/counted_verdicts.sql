-- One row per valid verdict in a decided debate, beside the panel's winner.
select
    judge_verdicts.run_tag, judge_verdicts.debate_id, judge_verdicts.judge_id, judge_verdicts.winner,
    decided_debates.winner as panel_winner

from marts.judge_verdicts
inner join marts.decided_debates using (run_tag, debate_id)
where judge_verdicts.is_valid
