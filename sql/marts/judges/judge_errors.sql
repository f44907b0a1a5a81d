-- One row per judge, judged debate of the source, truth and dimension: the mean over the trials of the debate.
with

-- Winners and labels are of two sides. Four teams are compared by position.
truths as (

    select
        run_tag, debate_id, truth, dimension, winning_positions, score_difference,
        case format when 'two_sided' then winner end as winner,
        case format when 'two_sided' then label end as label

    from marts.truths

),

verdicts as (

    select
        predictions.run_tag, predictions.judge_id, predictions.method, predictions.is_baseline, predictions.format,
        predictions.source_run_tag, predictions.source_debate_id, clusters.cluster_id, clusters.cluster_unit,
        truths.truth, predictions.dimension,
        truths.winner, truths.label, truths.score_difference, predictions.prediction,
        case predictions.format when 'two_sided' then predictions.prediction end as side,
        case
            when truths.winning_positions is not null then
                cast(len(list_intersect(predictions.predicted_positions, truths.winning_positions)) as double)
                / len(predictions.predicted_positions)
            when predictions.prediction = truths.winner then 1
            when predictions.prediction <> truths.winner then 0
        end as hit,
        case when predictions.prediction is null then 0 else hit end as judged_hit,
        pow(macros.label_of(predictions.score_comparison) - truths.label, 2) as score_comparison_error,
        pow(macros.label_of(predictions.direct_prediction) - truths.label, 2) as direct_prediction_error,
        predictions.pro_score - predictions.con_score as judge_difference

    from marts.judge_predictions as predictions

    inner join truths
        on predictions.source_run_tag = truths.run_tag
        and predictions.source_debate_id = truths.debate_id
        and predictions.dimension = truths.dimension

    inner join intermediate.int_clusters as clusters
        on predictions.run_tag = clusters.run_tag
        and predictions.debate_id = clusters.debate_id

    where predictions.has_truth

),

-- Decimals, because sums of floats depend on the order of the trials.
final as (

    select
        run_tag, judge_id, method, is_baseline, format, source_run_tag, source_debate_id, cluster_id, cluster_unit,
        truth, dimension,
        winner as true_winner,
        label as true_label,
        score_difference as people_difference,
        count(*) as count_verdicts,
        count(prediction) as count_predictions,
        cast(count(case when side = 'pro' then 1 end) as double) / nullif(count(side), 0) as pro_rate,
        cast(count(case when side = 'tie' then 1 end) as double) / nullif(count(side), 0) as tie_rate,
        cast(count(case when side = 'con' then 1 end) as double) / nullif(count(side), 0) as con_rate,
        cast(sum(cast(hit as decimal(38, 18))) as double) / nullif(count(hit), 0) as accuracy,
        cast(sum(cast(judged_hit as decimal(38, 18))) as double) / nullif(count(judged_hit), 0) as hit_rate,
        cast(sum(cast(score_comparison_error as decimal(38, 18))) as double)
        / nullif(count(score_comparison_error), 0) as score_comparison_error,
        cast(sum(cast(direct_prediction_error as decimal(38, 18))) as double)
        / nullif(count(direct_prediction_error), 0) as direct_prediction_error,
        cast(sum(cast(judge_difference as decimal(38, 12))) as double)
        / nullif(count(judge_difference), 0) as judge_difference

    from verdicts
    group by
        run_tag, judge_id, method, is_baseline, format, source_run_tag, source_debate_id, cluster_id, cluster_unit,
        truth, dimension, winner, label, score_difference

)

select * from final
