-- One row per judge and dimension (or `overall`) with a debate that the judge judged at least twice.
with

predictions as (

    select
        predictions.run_tag, predictions.judge_id, predictions.method, predictions.dimension,
        clusters.source_debate_id, clusters.cluster_unit, clusters.cluster_id,
        coalesce(array_to_string(predictions.predicted_positions, ' '), predictions.prediction) as predicted,
        predictions.pro_score - predictions.con_score as score_difference

    from marts.judge_predictions as predictions
    inner join intermediate.int_clusters as clusters using (run_tag, debate_id)
    where predictions.prediction is not null

),

counts as (

    select
        run_tag, judge_id, method, dimension, source_debate_id, cluster_unit, cluster_id, predicted,
        count(*) as count_trials

    from predictions
    group by run_tag, judge_id, method, dimension, source_debate_id, cluster_unit, cluster_id, predicted

),

-- The share of pairs of trials with equal predictions.
debates as (

    select
        run_tag, judge_id, method, dimension, source_debate_id, cluster_unit, cluster_id,
        cast(sum(count_trials) as bigint) as count_trials,
        cast(
            cast(sum(count_trials * (count_trials - 1)) as double)
            / nullif(sum(count_trials) * (sum(count_trials) - 1), 0) as decimal(38, 15)
        ) as agreement

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

cluster_sums as (

    select
        debates.run_tag, debates.judge_id, debates.method, debates.dimension, debates.cluster_unit, debates.cluster_id,
        count(*) as n,
        cast(sum(debates.count_trials) as bigint) as count_trials,
        sum(debates.agreement) as agreement,
        count(deviations.score_deviation) as count_deviations,
        sum(deviations.score_deviation) as score_deviation

    from debates
    left join deviations using (run_tag, judge_id, dimension, source_debate_id)
    group by
        debates.run_tag, debates.judge_id, debates.method, debates.dimension, debates.cluster_unit, debates.cluster_id

),

wholes as (

    select
        run_tag, judge_id, method, dimension, cluster_unit,
        cast(sum(n) as bigint) as n,
        cast(sum(count_trials) as bigint) as count_trials,
        cast(sum(agreement) as double) / sum(n) as agreement_rate,
        cast(sum(score_deviation) as double) / nullif(sum(count_deviations), 0) as mean_score_deviation,
        list({'n': n, 'y': cast(agreement as double)}) as clusters

    from cluster_sums
    group by run_tag, judge_id, method, dimension, cluster_unit

),

counted as (

    select
        wholes.*,
        macros.effective_count(
            wholes.agreement_rate,
            wholes.n,
            len(wholes.clusters),
            macros.mean_error(wholes.clusters, wholes.agreement_rate),
            of_debates.t_95,
            of_clusters.t_95
        ) as effective_n

    from wholes
    left join intermediate.int_t_quantiles as of_debates on wholes.n - 1 = of_debates.df
    left join intermediate.int_t_quantiles as of_clusters on len(wholes.clusters) - 1 = of_clusters.df

),

final as (

    select
        run_tag, judge_id, method, dimension,
        n as count_debates,
        count_trials, agreement_rate,
        macros.wilson_low(agreement_rate * effective_n, effective_n) as agreement_rate_ci_low,
        macros.wilson_high(agreement_rate * effective_n, effective_n) as agreement_rate_ci_high,
        macros.reason_of(effective_n is null, n, agreement_rate, len(clusters), cluster_unit) as agreement_rate_reason,
        len(clusters) as count_clusters,
        mean_score_deviation

    from counted

)

select * from final
