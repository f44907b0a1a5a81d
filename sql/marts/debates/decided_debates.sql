-- One row per debate that its panel decided, under the latest rule.
select
    debates.run_tag,
    debates.debate_id,
    debates.topic_id,
    debates.pro_model_id,
    debates.con_model_id,
    debates.schedule_position,
    debates.created_at,
    panel_winners.winner,
    coalesce(debates.format = 'two_sided' and debates.pro_model_id <> debates.con_model_id, false) as is_rated

from staging.stg_debates as debates
inner join marts.panel_winners using (run_tag, debate_id)
where panel_winners.winner <> 'no_decision'
