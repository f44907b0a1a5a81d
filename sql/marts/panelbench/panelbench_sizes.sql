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

),

measured as (

    select
        errors.run_tag, errors.judge_id, errors.method, errors.is_baseline, errors.source_run_tag, errors.format,
        sized.measure, sized.size, sized.size_order,
        count(*) as count_debates,
        rmse_interval(list(errors.source_debate_id), list(errors.score_comparison_error)) as score_comparison,
        rmse_interval(list(errors.source_debate_id), list(errors.direct_prediction_error)) as direct_prediction,
        count(errors.accuracy) as count_predicted,
        cast(sum(cast(errors.accuracy as decimal(38, 18))) as double) as accurate

    from marts.judge_errors as errors
    inner join sized on errors.source_run_tag = sized.run_tag and errors.source_debate_id = sized.debate_id
    where errors.truth = 'gold' and errors.dimension = 'overall'
    group by
        errors.run_tag, errors.judge_id, errors.method, errors.is_baseline, errors.source_run_tag, errors.format,
        sized.measure, sized.size, sized.size_order

),

final as (

    select
        run_tag, judge_id, method, is_baseline, source_run_tag, format, measure, size, size_order, count_debates,
        100 * score_comparison.value as rmse_score_comparison,
        100 * score_comparison.ci_low as rmse_score_comparison_ci_low,
        100 * score_comparison.ci_high as rmse_score_comparison_ci_high,
        100 * direct_prediction.value as rmse_direct_prediction,
        100 * direct_prediction.ci_low as rmse_direct_prediction_ci_low,
        100 * direct_prediction.ci_high as rmse_direct_prediction_ci_high,
        accurate / nullif(count_predicted, 0) as accuracy,
        macros.wilson_low(accurate, count_predicted) as accuracy_ci_low,
        macros.wilson_high(accurate, count_predicted) as accuracy_ci_high

    from measured

)

select * from final
