-- One row per judge and dimension (or `overall`) with a debate that the judge judged at least twice.
with

predictions as (

    select
        run_tag, judge_id, method, dimension, source_debate_id,
        coalesce(array_to_string(predicted_positions, ' '), prediction) as predicted,
        pro_score - con_score as score_difference

    from marts.judge_predictions
    where prediction is not null

),

counts as (

    select
        run_tag, judge_id, method, dimension, source_debate_id, predicted,
        count(*) as count_trials

    from predictions
    group by run_tag, judge_id, method, dimension, source_debate_id, predicted

),

-- The share of pairs of trials with equal predictions.
debates as (

    select
        run_tag, judge_id, method, dimension, source_debate_id,
        cast(sum(count_trials) as bigint) as count_trials,
        cast(
            cast(sum(count_trials * (count_trials - 1)) as double)
            / nullif(sum(count_trials) * (sum(count_trials) - 1), 0) as decimal(38, 18)
        ) as agreement

    from counts
    group by run_tag, judge_id, method, dimension, source_debate_id
    having sum(count_trials) > 1

),

deviations as (

    select
        run_tag, judge_id, dimension, source_debate_id,
        cast(stddev_samp(score_difference) as decimal(38, 12)) as score_deviation

    from predictions
    group by run_tag, judge_id, dimension, source_debate_id

),

wholes as (

    select
        debates.*,
        deviations.score_deviation,
        count(*) over (partition by debates.run_tag, debates.judge_id, debates.dimension) as count_debates,
        cast(sum(debates.agreement) over (partition by debates.run_tag, debates.judge_id, debates.dimension) as double)
        as agreement_sum

    from debates
    left join deviations using (run_tag, judge_id, dimension, source_debate_id)

),

means as (

    select
        run_tag, judge_id, method, dimension, count_debates,
        cast(sum(count_trials) as bigint) as count_trials,
        agreement_sum / count_debates as agreement_rate,
        macros.jackknife_error(
            (agreement_sum - cast(agreement as double)) / nullif(count_debates - 1, 0), agreement_sum / count_debates
        ) as standard_error,
        cast(sum(score_deviation) as double) / nullif(count(score_deviation), 0) as mean_score_deviation

    from wholes
    group by run_tag, judge_id, method, dimension, count_debates, agreement_sum

),

half_widths as (

    select
        means.*,
        macros.t_half_width(means.standard_error, t_quantiles.t_95) as half_width

    from means
    left join intermediate.int_t_quantiles as t_quantiles on means.count_debates - 1 = t_quantiles.df

),

final as (

    select
        run_tag, judge_id, method, dimension, count_debates, count_trials, agreement_rate,
        macros.at_least(agreement_rate - half_width, 0) as agreement_rate_ci_low,
        macros.at_most(agreement_rate + half_width, 1) as agreement_rate_ci_high,
        mean_score_deviation

    from half_widths

)

select * from final
