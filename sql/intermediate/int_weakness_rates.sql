-- One row per judge or annotator, weakness type (or `all`), measure, and whether the debates are controls.
with

cluster_sums as (

    select
        run_tag, judge_id, is_person, method, is_baseline, source_run_tag, weakness_type, measure, is_control,
        cluster_unit, cluster_id,
        min(weak_dimension) as least_dimension,
        max(weak_dimension) as greatest_dimension,
        count(*) as n,
        sum(count_preferences) as count_preferences,
        sum(cast(lower_rate as decimal(38, 18))) as lower_total,
        sum(cast(tie_rate as decimal(38, 18))) as tie_total

    from intermediate.int_weakness_cases
    group by
        run_tag, judge_id, is_person, method, is_baseline, source_run_tag, weakness_type, measure, is_control,
        cluster_unit, cluster_id

),

totals as (

    select
        run_tag, judge_id, is_person, method, is_baseline, source_run_tag, weakness_type, measure, is_control,
        cluster_unit,
        case when min(least_dimension) = max(greatest_dimension) then min(least_dimension) end as weak_dimension,
        cast(sum(n) as bigint) as n,
        cast(sum(count_preferences) as bigint) as count_preferences,
        cast(sum(lower_total) as double) / sum(n) as rate,
        cast(sum(tie_total) as double) / sum(n) as tie_rate,
        count(*) as count_clusters,
        list({'n': n, 'y': cast(lower_total as double)}) as clusters

    from cluster_sums
    group by
        run_tag, judge_id, is_person, method, is_baseline, source_run_tag, weakness_type, measure, is_control,
        cluster_unit

),

measured as (

    select
        totals.*,
        macros.mean_error(totals.clusters, totals.rate) as standard_error,
        of_debates.t_95 as t_debates,
        of_clusters.t_95 as t_clusters

    from totals
    left join intermediate.int_t_quantiles as of_debates on totals.n - 1 = of_debates.df
    left join intermediate.int_t_quantiles as of_clusters on totals.count_clusters - 1 = of_clusters.df

),

counted as (

    select
        *,
        macros.effective_count(rate, n, count_clusters, standard_error, t_debates, t_clusters) as effective_n,
        macros.t_half_width(standard_error, t_clusters) as half_width,
        (1 - tie_rate) * n as decided

    from measured

),

-- What varies among controls is which side is lower, and how often neither is: the second has Wilson's interval, and half
-- of it at least is the interval of the rate.
final as (

    select
        run_tag, judge_id, is_person, method, is_baseline, source_run_tag, weakness_type, measure, is_control,
        weak_dimension,
        n as count_debates,
        count_preferences, count_clusters, cluster_unit, rate,
        macros.wilson_low(rate * effective_n, effective_n) as rate_ci_low,
        macros.wilson_high(rate * effective_n, effective_n) as rate_ci_high,
        macros.reason_of(effective_n is null, n, rate, count_clusters, cluster_unit) as rate_reason,
        tie_rate, case
            when count_clusters < 2 then null
            when not is_control then macros.wilson_low(rate * effective_n, effective_n)
            else greatest(0, rate - greatest(half_width, (decided / n - macros.wilson_low(decided, n)) / 2))
        end as compared_ci_low,
        case
            when count_clusters < 2 then null
            when not is_control then macros.wilson_high(rate * effective_n, effective_n)
            else least(1, rate + greatest(half_width, (macros.wilson_high(decided, n) - decided / n) / 2))
        end as compared_ci_high,
        macros.reason_of(count_clusters < 2, n, rate, count_clusters, cluster_unit) as compared_reason

    from counted

)

select * from final
