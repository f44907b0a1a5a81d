-- One row per debate: the side with more verdicts than the other, where a verdict without scores counts as declared.
select
    run_tag, debate_id,
    count(case when verdicts.winner = 'pro' then 1 end) as count_pro,
    count(case when verdicts.winner = 'con' then 1 end) as count_con,
    count(case when verdicts.winner = 'tie' then 1 end) as count_tie,
    count(verdicts.winner) as count_valid_verdicts,
    macros.more_verdicts(status, count_pro, count_con, count_tie, 1) as winner,
    macros.more_verdicts(status, count_pro - 1, count_con, count_tie, 1) as winner_without_pro,
    macros.more_verdicts(status, count_pro, count_con - 1, count_tie, 1) as winner_without_con,
    macros.more_verdicts(status, count_pro, count_con, count_tie - 1, 1) as winner_without_tie

from staging.stg_debates
left join marts.judge_verdicts_v4 as verdicts using (run_tag, debate_id)
group by run_tag, debate_id, status
