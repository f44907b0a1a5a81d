-- Panels whose counts differ from those of `marts.judge_verdicts`: the latest versions of the two do not match.
with

verdicts as (

    select
        run_tag, debate_id,
        count(case when winner = 'pro' then 1 end) as pro_verdicts,
        count(case when winner = 'con' then 1 end) as con_verdicts,
        count(case when winner = 'tie' then 1 end) as tie_verdicts

    from marts.judge_verdicts
    where is_valid
    group by run_tag, debate_id

)

select
    panel_winners.run_tag, panel_winners.debate_id,
    panel_winners.count_pro, verdicts.pro_verdicts,
    panel_winners.count_con, verdicts.con_verdicts,
    panel_winners.count_tie, verdicts.tie_verdicts

from marts.panel_winners
left join verdicts using (run_tag, debate_id)
where
    panel_winners.count_pro <> coalesce(verdicts.pro_verdicts, 0)
    or panel_winners.count_con <> coalesce(verdicts.con_verdicts, 0)
    or panel_winners.count_tie <> coalesce(verdicts.tie_verdicts, 0)
