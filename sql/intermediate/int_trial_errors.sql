-- One row per verdict on a debate that people judged, truth and dimension.
with

-- Winners and labels are of two sides. Four teams are compared by position.
truths as (

    select
        run_tag, debate_id, truth, dimension, winning_positions, score_difference,
        case format when 'two_sided' then winner end as winner,
        case format when 'two_sided' then label end as label

    from marts.truths

),

final as (

    select
        predictions.run_tag, predictions.debate_id, predictions.judge_id, predictions.method, predictions.is_baseline,
        predictions.format, predictions.source_run_tag, predictions.source_debate_id, predictions.trial,
        truths.truth, predictions.dimension,
        truths.winner as true_winner,
        truths.label as true_label,
        truths.score_difference as people_difference,
        predictions.prediction,
        case predictions.format when 'two_sided' then predictions.prediction end as side,
        case
            when truths.winning_positions is not null then
                cast(len(list_intersect(predictions.predicted_positions, truths.winning_positions)) as double)
                / len(predictions.predicted_positions)
            when predictions.prediction = truths.winner then 1
            when predictions.prediction <> truths.winner then 0
        end as hit,
        pow(macros.label_of(predictions.score_comparison) - truths.label, 2) as score_comparison_error,
        pow(macros.label_of(predictions.direct_prediction) - truths.label, 2) as direct_prediction_error,
        predictions.pro_score - predictions.con_score as judge_difference

    from marts.judge_predictions as predictions

    inner join truths
        on predictions.source_run_tag = truths.run_tag
        and predictions.source_debate_id = truths.debate_id
        and predictions.dimension = truths.dimension

    where predictions.has_truth

)

select * from final
