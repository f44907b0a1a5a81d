-- One row per run, topic and ordered pair of debaters with a rated debate.
select
    run_tag, topic_id,
    any_value(pro_model_id) as pro_model_id,
    any_value(con_model_id) as con_model_id,
    -- Rating functions identify topics, like debaters, by numbers from 1.
    cast(dense_rank() over (partition by run_tag order by topic_id) as integer) as topic_code,
    pro_code, con_code,
    cast(count(case when pro_score = 1 then 1 end) as integer) as pro_wins,
    cast(count(case when pro_score = 0.5 then 1 end) as integer) as ties,
    cast(count(case when pro_score = 0 then 1 end) as integer) as con_wins,
    cast(count(case when is_simulated then 1 end) as integer) as count_simulated

from marts.games
group by run_tag, topic_id, pro_code, con_code
