-- One row per complete debate with a scored verdict: the mean score of each side.
select
    debates.run_tag, debates.debate_id, debates.pro_model_id, debates.con_model_id, debates.trial,
    cast(sum(verdict_totals.pro_total) as double) / sum(verdict_totals.count_dimensions) as pro_mean_score,
    cast(sum(verdict_totals.con_total) as double) / sum(verdict_totals.count_dimensions) as con_mean_score

from staging.stg_debates as debates
inner join intermediate.int_verdict_totals as verdict_totals using (run_tag, debate_id)

where
    debates.status = 'complete'
    and verdict_totals.is_valid
    and verdict_totals.count_dimensions > 0

group by debates.run_tag, debates.debate_id, debates.pro_model_id, debates.con_model_id, debates.trial
