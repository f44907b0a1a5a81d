-- One row per pair of judges, format and measure, over the debates of one source that both judged.
with

-- A judge is right in a debate if more than half of what it predicted in its trials won.
measured as (

    select
        run_tag, judge_id, source_run_tag, format, source_debate_id, cluster_id, cluster_unit,
        unnest(
            [
                {'measure': 'score_comparison', 'value': score_comparison_error},
                {'measure': 'direct_prediction', 'value': direct_prediction_error},
                {'measure': 'accuracy', 'value': accuracy},
                {'measure': 'right', 'value': case when accuracy > 0.5 then 1 when accuracy <= 0.5 then 0 end}
            ]
        ) as each

    from marts.judge_errors
    where truth = 'gold' and dimension = 'overall'

),

clusters as (

    select
        one.source_run_tag, one.format,
        one.each.measure as measure,
        {'run_a': one.run_tag, 'judge_a': one.judge_id, 'run_b': two.run_tag, 'judge_b': two.judge_id} as pair,
        one.cluster_id, one.cluster_unit,
        count(*) as n,
        sum(cast(one.each.value as decimal(38, 18)) - cast(two.each.value as decimal(38, 18))) as difference,
        count(case when one.each.value > two.each.value then 1 end) as count_a,
        count(case when one.each.value < two.each.value then 1 end) as count_b

    from measured as one

    inner join measured as two
        on one.source_run_tag = two.source_run_tag
        and one.format = two.format
        and one.each.measure = two.each.measure
        and one.source_debate_id = two.source_debate_id
        and (one.run_tag < two.run_tag or (one.run_tag = two.run_tag and one.judge_id < two.judge_id))

    where one.each.value is not null and two.each.value is not null
    group by one.source_run_tag, one.format, one.each.measure, pair, one.cluster_id, one.cluster_unit

),

totals as (

    select
        source_run_tag, format, measure, pair, cluster_unit,
        cast(sum(n) as bigint) as n,
        max(n) = 1 as are_independent,
        list({'n': n, 'y': cast(difference as double)}) as clusters,
        count(*) as count_clusters,
        cast(sum(difference) as double) / sum(n) as mean_difference,
        count(case when difference > 0 then 1 end) as count_above,
        count(case when difference < 0 then 1 end) as count_below,
        cast(sum(count_a) as bigint) as count_a,
        cast(sum(count_b) as bigint) as count_b

    from clusters
    group by source_run_tag, format, measure, pair, cluster_unit

),

errors as (

    select
        *,
        macros.mean_error(clusters, mean_difference) as standard_error

    from totals

),

-- McNemar's test is the exact sign test of the debates that only one of them has right, where these are independent.
tested as (

    select
        errors.*,
        (source_run_tag, format, measure) as family,
        macros.t_half_width(nullif(standard_error, 0), t_quantiles.t_95) as half_width,
        case
            when measure = 'right' and are_independent and count_a + count_b = 0 then 1
            else
                macros.difference_p(
                    mean_difference, standard_error, count_clusters, count_above, count_below,
                    measure = 'right' and are_independent
                )
        end as p_value

    from errors
    left join intermediate.int_t_quantiles as t_quantiles on errors.count_clusters - 1 = t_quantiles.df

),

steps as (

    select
        *,
        macros.holm_step(p_value, family) as step

    from tested

),

rights as (

    select * exclude (measure), 'accuracy' as measure from steps
    where measure = 'right'

),

-- The same pairs with every trial for itself, as in table 12 of the Debatrix paper.
trials as (

    select
        run_tag, judge_id, source_run_tag, format, source_debate_id, trial,
        unnest(
            [
                {'measure': 'score_comparison', 'value': score_comparison_error},
                {'measure': 'direct_prediction', 'value': direct_prediction_error},
                {'measure': 'accuracy', 'value': case when hit > 0.5 then 1 when hit <= 0.5 then 0 end}
            ]
        ) as each

    from intermediate.int_trial_errors
    where truth = 'gold' and dimension = 'overall'

),

paired_trials as (

    select
        one.source_run_tag, one.format,
        one.each.measure as measure,
        {'run_a': one.run_tag, 'judge_a': one.judge_id, 'run_b': two.run_tag, 'judge_b': two.judge_id} as pair,
        cast(one.each.value as decimal(38, 18)) - cast(two.each.value as decimal(38, 18)) as difference

    from trials as one

    inner join trials as two
        on one.source_run_tag = two.source_run_tag
        and one.format = two.format
        and one.each.measure = two.each.measure
        and one.source_debate_id = two.source_debate_id
        and one.trial = two.trial
        and (one.run_tag < two.run_tag or (one.run_tag = two.run_tag and one.judge_id < two.judge_id))

),

trial_sums as (

    select
        source_run_tag, format, measure, pair,
        count(difference) as n,
        count(*) = count(difference) as is_complete,
        cast(sum(difference) as double) / nullif(count(difference), 0) as mean_difference,
        list(
            {'n': case when difference is null then 0 else 1 end, 'y': coalesce(cast(difference as double), 0)}
        ) as differences,
        count(case when difference > 0 then 1 end) as count_above,
        count(case when difference < 0 then 1 end) as count_below

    from paired_trials
    group by source_run_tag, format, measure, pair

),

published as (

    select
        source_run_tag, format, measure, pair, n, is_complete, mean_difference,
        case measure when 'accuracy' then count_above end as count_a,
        case measure when 'accuracy' then count_below end as count_b,
        case
            when measure = 'accuracy' and not is_complete then null
            when measure = 'accuracy' and n > 0 and count_above + count_below = 0 then 1
            when measure = 'accuracy' then macros.sign_test_p(count_above, count_below)
            else
                macros.student_t_p(
                    mean_difference / nullif(macros.mean_error(differences, mean_difference), 0), n - 1
                )
        end as p_value

    from trial_sums

),

final as (

    select
        source_run_tag, format, measure,
        tests.pair.run_a, tests.pair.judge_a, tests.pair.run_b, tests.pair.judge_b,
        tests.n as count_debates,
        tests.count_clusters, tests.mean_difference,
        -- Squared errors and accuracies are between 0 and 1.
        macros.at_least(tests.mean_difference - tests.half_width, -1) as ci_low,
        macros.at_most(tests.mean_difference + tests.half_width, 1) as ci_high,
        tests.p_value,
        macros.holm_p(tests.p_value, tests.step, tests.family) as p_value_holm,
        macros.reason_of(
            tests.half_width is null, tests.n, tests.mean_difference, tests.count_clusters, tests.cluster_unit
        ) as reason,
        rights.count_a as count_only_a,
        rights.count_b as count_only_b,
        rights.p_value as mcnemar_p_value,
        macros.holm_p(rights.p_value, rights.step, tests.family) as mcnemar_p_value_holm,
        macros.reason_of(
            rights.p_value is null, rights.n, rights.mean_difference, rights.count_clusters, rights.cluster_unit
        ) as mcnemar_reason,
        coalesce(published.n, 0) as count_trials,
        published.count_a as count_trials_only_a,
        published.count_b as count_trials_only_b,
        published.p_value as trial_p_value,
        case
            when tests.measure = 'accuracy' and not published.is_complete then 'incomplete'
            else
                macros.reason_of(
                    published.p_value is null, published.n, published.mean_difference, published.n, 'trial'
                )
        end as trial_reason

    from steps as tests

    left join rights using (source_run_tag, format, pair, measure)
    left join published using (source_run_tag, format, pair, measure)
    where tests.measure <> 'right'

)

select * from final
