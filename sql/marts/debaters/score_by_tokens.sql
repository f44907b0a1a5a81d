-- One row per debater with a scored, metered debate: do its longer speeches score better?
with

side_tokens as (

    select
        run_tag, debate_id,
        cast(sum(case when side = 'pro' then completion_tokens end) as double) as pro_tokens,
        cast(sum(case when side = 'con' then completion_tokens end) as double) as con_tokens,
        count(case when side = 'pro' and completion_tokens is null then 1 end) as pro_unmetered,
        count(case when side = 'con' and completion_tokens is null then 1 end) as con_unmetered

    from intermediate.int_debate_turns
    group by run_tag, debate_id

),

debates as (

    select
        debate_means.run_tag,
        debate_means.pro_model_id,
        debate_means.con_model_id,
        side_tokens.pro_tokens,
        side_tokens.con_tokens,
        debate_means.pro_mean_score,
        debate_means.con_mean_score

    from intermediate.int_debate_means as debate_means
    inner join side_tokens using (run_tag, debate_id)

    where
        debate_means.trial = 1
        and side_tokens.pro_unmetered + side_tokens.con_unmetered = 0
        and side_tokens.pro_tokens is not null
        and side_tokens.con_tokens is not null

),

sides as (

    select
        run_tag,
        pro_model_id as model_id,
        pro_tokens as tokens,
        pro_mean_score as score,
        pro_tokens - con_tokens as token_gap,
        pro_mean_score - con_mean_score as score_gap

    from debates
    where pro_model_id <> con_model_id

    union all

    select
        run_tag,
        con_model_id as model_id,
        con_tokens as tokens,
        con_mean_score as score,
        con_tokens - pro_tokens as token_gap,
        con_mean_score - pro_mean_score as score_gap

    from debates
    where pro_model_id <> con_model_id

),

-- Rounded, because the last digits of floats depend on the order of the rows.
correlations as (

    select
        run_tag, model_id,
        count(*) as count_debates,
        cast(sum(tokens) as double) / count(*) as mean_tokens,
        case
            when stddev_pop(tokens) > 0 and stddev_pop(score) > 1e-9
                then round(corr(score, tokens), 9)
        end as correlation,
        case
            when stddev_pop(token_gap) > 0 and stddev_pop(score_gap) > 1e-9
                then round(corr(score_gap, token_gap), 9)
        end as gap_correlation,
        case
            when stddev_pop(token_gap) > 0 then round(regr_slope(score_gap, token_gap) * 100, 9)
        end as gap_per_100_tokens

    from sides
    group by run_tag, model_id

),

final as (

    select
        run_tag, model_id, count_debates, mean_tokens, correlation, gap_correlation,
        macros.correlation_low(gap_correlation, count_debates) as gap_correlation_ci_low,
        macros.correlation_high(gap_correlation, count_debates) as gap_correlation_ci_high,
        gap_per_100_tokens

    from correlations

)

select * from final
