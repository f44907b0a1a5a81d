-- One row per judge, format, measure of size and size, over debates with gold verdicts.
with

-- Speeches that were not generated have no tokens; four characters are about one.
sizes as (

    select
        run_tag, debate_id,
        count(*) as count_speeches,
        case
            when count(*) = count(completion_tokens) then cast(sum(completion_tokens) as double)
            else cast(sum(length(content)) as double) / 4
        end as speech_tokens

    from staging.stg_turns
    group by run_tag, debate_id

),

-- What the collection itself calls long, or of many rounds.
flags as (

    select
        run_tag, debate_id,
        'is_long' as measure,
        metadata ->> '$.is_long' as flag,
        'long' as yes,
        'not long' as no

    from staging.stg_gold
    where unit = 'winner'

    union all

    select
        run_tag, debate_id,
        'is_many_round' as measure,
        metadata ->> '$.is_many_round' as flag,
        'many rounds' as yes,
        'few rounds' as no

    from staging.stg_gold
    where unit = 'winner'

),

sized as (

    select
        run_tag, debate_id,
        'speeches' as measure,
        case
            when count_speeches < 6 then 'under 6' when count_speeches < 8 then '6 to 7' else '8 or more'
        end as size,
        case when count_speeches < 6 then 1 when count_speeches < 8 then 2 else 3 end as size_order

    from sizes

    union all

    select
        run_tag, debate_id,
        'tokens' as measure,
        case
            when speech_tokens < 4000 then 'under 4000'
            when speech_tokens < 8000 then '4000 to 7999'
            else '8000 or more'
        end as size,
        case when speech_tokens < 4000 then 1 when speech_tokens < 8000 then 2 else 3 end as size_order

    from sizes

    union all

    select
        run_tag, debate_id, measure,
        case flag when 'true' then yes else no end as size,
        case flag when 'true' then 2 else 1 end as size_order

    from flags
    where flag in ('true', 'false')

),

debates as (

    select
        errors.run_tag, errors.judge_id, errors.method, errors.is_baseline, errors.source_run_tag, errors.format,
        sized.measure, sized.size, sized.size_order, errors.cluster_id, errors.cluster_unit, errors.accuracy,
        errors.score_comparison_error, errors.direct_prediction_error

    from marts.judge_errors as errors
    inner join sized on errors.source_run_tag = sized.run_tag and errors.source_debate_id = sized.debate_id
    where errors.truth = 'gold' and errors.dimension = 'overall'

),

measured as (

    select
        run_tag, judge_id, method, is_baseline, source_run_tag, format, measure, size, size_order, cluster_unit,
        count(*) as count_debates,
        count(score_comparison_error) as count_compared,
        rmse(list(cluster_id), list(score_comparison_error)) as scores,
        count(direct_prediction_error) as count_named,
        rmse(list(cluster_id), list(direct_prediction_error)) as words

    from debates
    group by
        run_tag, judge_id, method, is_baseline, source_run_tag, format, measure, size, size_order, cluster_unit

),

cluster_sums as (

    select
        run_tag, judge_id, format, measure, size, cluster_id,
        count(*) as n,
        sum(cast(accuracy as decimal(38, 18))) as total

    from debates
    where accuracy is not null
    group by run_tag, judge_id, format, measure, size, cluster_id

),

accuracies as (

    select
        run_tag, judge_id, format, measure, size,
        cast(sum(n) as bigint) as n,
        count(*) as count_clusters,
        cast(sum(total) as double) / sum(n) as accuracy,
        list({'n': n, 'y': cast(total as double)}) as clusters

    from cluster_sums
    group by run_tag, judge_id, format, measure, size

),

counted as (

    select
        measured.*,
        accuracies.n, accuracies.accuracy, accuracies.count_clusters,
        macros.effective_count(
            accuracies.accuracy, accuracies.n, accuracies.count_clusters,
            macros.mean_error(accuracies.clusters, accuracies.accuracy), of_debates.t_95, of_clusters.t_95
        ) as effective_n,
        macros.t_half_width(macros.jackknife_error(scores.left_out, scores.value), of_scores.t_95) as scores_half_width,
        macros.t_half_width(macros.jackknife_error(words.left_out, words.value), of_words.t_95) as words_half_width

    from measured
    left join accuracies using (run_tag, judge_id, format, measure, size)
    left join intermediate.int_t_quantiles as of_debates on accuracies.n - 1 = of_debates.df
    left join intermediate.int_t_quantiles as of_clusters on accuracies.count_clusters - 1 = of_clusters.df
    left join intermediate.int_t_quantiles as of_scores on len(measured.scores.left_out) - 1 = of_scores.df
    left join intermediate.int_t_quantiles as of_words on len(measured.words.left_out) - 1 = of_words.df

),

final as (

    select
        run_tag, judge_id, method, is_baseline, source_run_tag, format, measure, size, size_order, count_debates,
        100 * scores.value as rmse_score_comparison,
        100 * macros.at_least(scores.value - scores_half_width, 0) as rmse_score_comparison_ci_low,
        100 * macros.at_most(scores.value + scores_half_width, 1) as rmse_score_comparison_ci_high,
        macros.reason_of(scores_half_width is null, count_compared, scores.value, len(scores.left_out), cluster_unit)
            as rmse_score_comparison_reason,
        100 * words.value as rmse_direct_prediction,
        100 * macros.at_least(words.value - words_half_width, 0) as rmse_direct_prediction_ci_low,
        100 * macros.at_most(words.value + words_half_width, 1) as rmse_direct_prediction_ci_high,
        macros.reason_of(words_half_width is null, count_named, words.value, len(words.left_out), cluster_unit)
            as rmse_direct_prediction_reason,
        accuracy,
        macros.wilson_low(accuracy * effective_n, effective_n) as accuracy_ci_low,
        macros.wilson_high(accuracy * effective_n, effective_n) as accuracy_ci_high,
        macros.reason_of(effective_n is null, n, accuracy, count_clusters, cluster_unit) as accuracy_reason

    from counted

)

select * from final
