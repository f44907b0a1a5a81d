-- One row per judge, stored debate that it judged at least twice, and dimension (or `overall`).
with

predictions as (

    select
        predictions.run_tag, predictions.judge_id, predictions.method, predictions.dimension,
        predictions.source_debate_id, clusters.cluster_unit, clusters.cluster_id, predictions.presented_first,
        coalesce(array_to_string(predictions.predicted_positions, ' '), predictions.prediction) as predicted,
        predictions.pro_score - predictions.con_score as score_difference

    from marts.judge_predictions as predictions
    inner join intermediate.int_clusters as clusters using (run_tag, debate_id)
    where predictions.is_repeated and predictions.prediction is not null

),

counts as (

    select
        run_tag, judge_id, method, dimension, source_debate_id, cluster_unit, cluster_id, predicted,
        count(*) as count_trials,
        count(case when presented_first = 'pro' then 1 end) as count_pro_first,
        count(case when presented_first = 'con' then 1 end) as count_con_first

    from predictions
    group by run_tag, judge_id, method, dimension, source_debate_id, cluster_unit, cluster_id, predicted

),

-- The share of pairs of trials with equal predictions: of all pairs, and of those that differ in the order.
debates as (

    select
        run_tag, judge_id, method, dimension, source_debate_id, cluster_unit, cluster_id,
        cast(sum(count_trials) as bigint) as count_trials,
        cast(sum(count_trials * (count_trials - 1)) as double)
        / nullif(sum(count_trials) * (sum(count_trials) - 1), 0) as agreement_rate,
        cast(sum(count_pro_first * count_con_first) as double)
        / nullif(sum(count_pro_first) * sum(count_con_first), 0) as order_agreement_rate

    from counts
    group by run_tag, judge_id, method, dimension, source_debate_id, cluster_unit, cluster_id
    having sum(count_trials) > 1

),

deviations as (

    select
        run_tag, judge_id, dimension, source_debate_id,
        cast(stddev_samp(score_difference) as decimal(38, 12)) as score_deviation

    from predictions
    group by run_tag, judge_id, dimension, source_debate_id

),

final as (

    select
        run_tag, judge_id, debates.method, dimension, source_debate_id, debates.cluster_unit, debates.cluster_id,
        debates.count_trials, debates.agreement_rate, debates.order_agreement_rate,
        debates.order_agreement_rate = 1 as is_same_in_both_orders,
        deviations.score_deviation

    from debates
    left join deviations using (run_tag, judge_id, dimension, source_debate_id)

)

select * from final
