-- One row per judge or annotator, debate with a weakness or control, and dimension, or `overall` for the whole debate.
with

said as (

    select
        predictions.run_tag, predictions.debate_id, predictions.judge_id,
        false as is_person,
        predictions.method, predictions.is_baseline, predictions.dimension,
        predictions.prediction as winner,
        predictions.score_comparison as scored_winner,
        cast(predictions.pro_score as double) as pro_score,
        cast(predictions.con_score as double) as con_score

    from marts.judge_predictions as predictions
    where predictions.is_valid and predictions.has_weakness

    union all

    select
        opinions.run_tag, opinions.debate_id,
        opinions.person_id as judge_id,
        true as is_person,
        'person' as method,
        false as is_baseline,
        opinions.dimension, opinions.winner, opinions.scored_winner,
        cast(opinions.pro_score as double) as pro_score,
        cast(opinions.con_score as double) as con_score

    from intermediate.int_opinions as opinions
    where not opinions.is_adjudicated

),

final as (

    select
        said.run_tag, said.debate_id, said.judge_id, said.is_person, said.method, said.is_baseline,
        debates.source_run_tag, debates.source_debate_id, debates.cluster_id, debates.cluster_unit,
        debates.is_control, debates.side, debates.weakness_type, debates.weak_dimension, said.dimension, said.winner, said.scored_winner, said.pro_score,
        said.con_score

    from said
    inner join intermediate.int_weakness_debates as debates using (run_tag, debate_id)
    where said.winner is not null or said.scored_winner is not null

)

select * from final
