-- One row per debater with a decided debate.
select
    run_tag, model_id,
    count(case when side = 'pro' and result = 'win' then 1 end) as pro_w,
    count(case when side = 'pro' and result = 'loss' then 1 end) as pro_l,
    count(case when side = 'pro' and result = 'tie' then 1 end) as pro_t,
    count(case when side = 'con' and result = 'win' then 1 end) as con_w,
    count(case when side = 'con' and result = 'loss' then 1 end) as con_l,
    count(case when side = 'con' and result = 'tie' then 1 end) as con_t

from marts.debate_results
group by run_tag, model_id
