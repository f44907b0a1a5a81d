-- One row per pair of judges, format and measure, over the debates of one source that both judged.
with

errors as (

    select * from marts.judge_errors
    where truth = 'gold' and dimension = 'overall'

),

measured as (

    select
        run_tag, judge_id, source_run_tag, format, source_debate_id,
        'score_comparison' as measure,
        score_comparison_error as value

    from errors

    union all

    select
        run_tag, judge_id, source_run_tag, format, source_debate_id,
        'direct_prediction' as measure,
        direct_prediction_error as value

    from errors

    union all

    select
        run_tag, judge_id, source_run_tag, format, source_debate_id,
        'accuracy' as measure,
        accuracy as value

    from errors

),

tested as (

    select
        one.source_run_tag, one.format, one.measure,
        one.run_tag as run_a,
        one.judge_id as judge_a,
        two.run_tag as run_b,
        two.judge_id as judge_b,
        paired_t(list(one.value), list(two.value), 0.95) as test,
        count(case when one.value > 0.5 and two.value <= 0.5 then 1 end) as count_only_a,
        count(case when one.value <= 0.5 and two.value > 0.5 then 1 end) as count_only_b

    from measured as one

    inner join measured as two
        on one.source_run_tag = two.source_run_tag
        and one.format = two.format
        and one.measure = two.measure
        and one.source_debate_id = two.source_debate_id
        and (one.run_tag < two.run_tag or (one.run_tag = two.run_tag and one.judge_id < two.judge_id))

    where one.value is not null and two.value is not null
    group by
        one.source_run_tag, one.format, one.measure, one.run_tag, one.judge_id, two.run_tag, two.judge_id

),

-- How many debates both judge alike does not change McNemar's test.
compared as (

    select
        *,
        test.p as p_value,
        case
            when measure = 'accuracy'
                then mcnemar(test.count_pairs - count_only_a - count_only_b, count_only_a, count_only_b, 0).exact_p
        end as mcnemar_p_value,
        (source_run_tag, format, measure) as family

    from tested

),

steps as (

    select
        *,
        macros.holm_step(p_value, family) as step,
        macros.holm_step(mcnemar_p_value, family) as mcnemar_step

    from compared

),

final as (

    select
        source_run_tag, format, measure, run_a, judge_a, run_b, judge_b,
        test.count_pairs as count_debates,
        test.mean_diff as mean_difference,
        test.ci_low as ci_low,
        test.ci_high as ci_high,
        p_value,
        macros.holm_p(p_value, step, family) as p_value_holm,
        case when measure = 'accuracy' then count_only_a end as count_only_a,
        case when measure = 'accuracy' then count_only_b end as count_only_b,
        mcnemar_p_value,
        macros.holm_p(mcnemar_p_value, mcnemar_step, family) as mcnemar_p_value_holm

    from steps

)

select * from final
