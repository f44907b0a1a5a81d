-- One row per side into which a weakness was injected.
select
    weaknesses.run_tag, weaknesses.debate_id, weaknesses.side, weaknesses.weakness_type, weaknesses.taxonomy, weaknesses.dimension,
    case weaknesses.side when 'pro' then debates.pro_model_id else debates.con_model_id end as model_id

from staging.stg_weaknesses as weaknesses
inner join staging.stg_debates as debates using (run_tag, debate_id)
