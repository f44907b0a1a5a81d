-- One row per complete debate and dimension: the panel's mean score for each side.
select
    means.run_tag, means.debate_id, means.dimension, means.pro_mean_score, means.con_mean_score,
    means.count_scored_verdicts, debates.pro_model_id, debates.con_model_id, debates.source_position,
    -- A source may list the dimensions in a different order in each debate; a run has one order for all debates.
    coalesce(
        list_position(debates.dimension_order, means.dimension),
        dimensions.source_position
    ) as dimension_position

from intermediate.int_dimension_means as means
inner join staging.stg_debates as debates using (run_tag, debate_id)
left join staging.stg_dimensions as dimensions using (run_tag, dimension)
where debates.status = 'complete'
