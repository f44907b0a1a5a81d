-- One row per judge or annotator, method and weakness type (or `all`).
with

typed as (

    select
        *,
        unnest([weakness_type, 'all']) as typed_weakness

    from marts.weakness_diagnoses

),

-- The trials of a debate are averaged first.
by_debate as (

    select
        run_tag, judge_id, is_person, method, is_baseline, source_run_tag, typed_weakness, source_debate_id, cluster_id,
        cluster_unit, weak_dimension,
        count(*) as count_diagnoses,
        count(case when diagnosis = 'sees it' then 1 end) as count_sees,
        count(case when diagnosis = 'blames another dimension' then 1 end) as count_blames,
        count(case when diagnosis = 'misses it' then 1 end) as count_misses,
        count(case when diagnosis = 'rewards it' then 1 end) as count_rewards

    from typed
    group by
        run_tag, judge_id, is_person, method, is_baseline, source_run_tag, typed_weakness, source_debate_id, cluster_id,
        cluster_unit, weak_dimension

),

shares as (

    select
        run_tag, judge_id, is_person, method, typed_weakness, cluster_id, cluster_unit,
        unnest(
            [
                {'diagnosis': 'sees', 'value': cast(count_sees as double) / count_diagnoses},
                {'diagnosis': 'blames', 'value': cast(count_blames as double) / count_diagnoses},
                {'diagnosis': 'misses', 'value': cast(count_misses as double) / count_diagnoses},
                {'diagnosis': 'rewards', 'value': cast(count_rewards as double) / count_diagnoses}
            ]
        ) as share

    from by_debate

),

clusters as (

    select
        run_tag, judge_id, is_person, method, typed_weakness, cluster_id, cluster_unit,
        share.diagnosis as diagnosis,
        count(*) as n,
        sum(cast(share.value as decimal(38, 18))) as total

    from shares
    group by run_tag, judge_id, is_person, method, typed_weakness, cluster_id, cluster_unit, share.diagnosis

),

rates as (

    select
        run_tag, judge_id, is_person, method, typed_weakness, cluster_unit, diagnosis,
        cast(sum(n) as bigint) as n,
        count(*) as count_clusters,
        cast(sum(total) as double) / sum(n) as rate,
        list({'n': n, 'y': cast(total as double)}) as clusters

    from clusters
    group by run_tag, judge_id, is_person, method, typed_weakness, cluster_unit, diagnosis

),

counted as (

    select
        rates.*,
        macros.effective_count(
            rate, n, count_clusters, macros.mean_error(clusters, rate), of_debates.t_95, of_clusters.t_95
        ) as effective_n

    from rates
    left join intermediate.int_t_quantiles as of_debates on rates.n - 1 = of_debates.df
    left join intermediate.int_t_quantiles as of_clusters on rates.count_clusters - 1 = of_clusters.df

),

bounded as (

    select
        *,
        macros.wilson_low(rate * effective_n, effective_n) as ci_low,
        macros.wilson_high(rate * effective_n, effective_n) as ci_high

    from counted

),

diagnoses as (

    select
        run_tag, judge_id, is_person, method, typed_weakness, cluster_unit, count_clusters,
        map(list(diagnosis), list({'rate': rate, 'n': effective_n, 'ci_low': ci_low, 'ci_high': ci_high})) as rates

    from bounded
    group by run_tag, judge_id, is_person, method, typed_weakness, cluster_unit, count_clusters

),

totals as (

    select
        run_tag, judge_id, is_person, method, is_baseline, source_run_tag, typed_weakness,
        case when min(weak_dimension) = max(weak_dimension) then min(weak_dimension) end as weak_dimension,
        count(*) as count_debates,
        cast(sum(count_diagnoses) as bigint) as count_diagnoses,
        cast(sum(count_sees) as bigint) as count_sees,
        cast(sum(count_blames) as bigint) as count_blames,
        cast(sum(count_misses) as bigint) as count_misses,
        cast(sum(count_rewards) as bigint) as count_rewards

    from by_debate
    group by run_tag, judge_id, is_person, method, is_baseline, source_run_tag, typed_weakness

),

final as (

    select
        run_tag, judge_id, is_person, method, totals.is_baseline, totals.source_run_tag,
        typed_weakness as weakness_type,
        totals.weak_dimension, totals.count_debates, totals.count_diagnoses, totals.count_sees, totals.count_blames,
        totals.count_misses, totals.count_rewards, diagnoses.count_clusters, diagnoses.cluster_unit,
        macros.reason_of(rates['sees'].n is null, count_debates, rates['sees'].rate, count_clusters, cluster_unit)
            as reason,
        rates['sees'].rate as sees_rate,
        rates['sees'].ci_low as sees_rate_ci_low,
        rates['sees'].ci_high as sees_rate_ci_high,
        rates['blames'].rate as blames_rate,
        rates['blames'].ci_low as blames_rate_ci_low,
        rates['blames'].ci_high as blames_rate_ci_high,
        rates['misses'].rate as misses_rate,
        rates['misses'].ci_low as misses_rate_ci_low,
        rates['misses'].ci_high as misses_rate_ci_high,
        rates['rewards'].rate as rewards_rate,
        rates['rewards'].ci_low as rewards_rate_ci_low,
        rates['rewards'].ci_high as rewards_rate_ci_high

    from totals
    inner join diagnoses using (run_tag, judge_id, is_person, method, typed_weakness)

)

select * from final
