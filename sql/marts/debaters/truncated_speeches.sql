-- One row per debater of a run: how often the token limit cut its speeches off, and whether it then loses.
with

totals as (

    select
        run_tag, model_id, cluster_unit,
        cast(sum(count_speeches) as bigint) as count_speeches,
        cast(sum(count_truncated) as bigint) as count_truncated,
        cast(sum(n) as bigint) as n,
        cast(sum(x) as bigint) as x,
        cast(sum(y) as double) as y,
        cast(sum(xy) as double) as xy

    from intermediate.int_truncation_sums
    group by run_tag, model_id, cluster_unit

),

-- The sums of cut-off debates and points around the debater's means, whose ratio is the difference of its win rates; and by
-- how much they change without each topic in turn (the jackknife).
changes as (

    select
        sums.run_tag, sums.model_id, sums.cluster_unit, sums.cluster_id,
        totals.xy - totals.x * totals.y / nullif(totals.n, 0) as covariance,
        totals.x - totals.x * totals.x / nullif(totals.n, 0) as variance,
        coalesce(
            totals.xy - sums.xy - (totals.x - sums.x) * (totals.y - cast(sums.y as double)) / nullif(totals.n - sums.n, 0), 0
        ) as covariance_without,
        coalesce(totals.x - sums.x - (totals.x - sums.x) * (totals.x - sums.x) / nullif(totals.n - sums.n, 0), 0)
            as variance_without

    from intermediate.int_truncation_sums as sums
    inner join totals using (run_tag, model_id)
    where sums.n > 0

),
runs as (

    select
        run_tag,
        sum(cast(coalesce(xy - x * y / nullif(n, 0), 0) as decimal(38, 12))) as covariance,
        sum(cast(coalesce(x - x * x / nullif(n, 0), 0) as decimal(38, 12))) as variance

    from totals
    group by run_tag

),

-- Of each debater, and of all debaters of the run, each compared only with itself.
scopes as (

    select run_tag, model_id, cluster_unit, covariance, variance, covariance_without, variance_without from changes

    union all

    select
        run_tag,
        null as model_id,
        changes.cluster_unit,
        cast(any_value(runs.covariance) as double) as covariance,
        cast(any_value(runs.variance) as double) as variance,
        cast(
            any_value(runs.covariance) + sum(cast(changes.covariance_without - changes.covariance as decimal(38, 12))) as double
        ) as covariance_without,
        cast(any_value(runs.variance) + sum(cast(changes.variance_without - changes.variance as decimal(38, 12))) as double)
            as variance_without

    from changes
    inner join runs using (run_tag)
    group by run_tag, changes.cluster_unit, changes.cluster_id

),

gaps as (

    select
        run_tag, model_id, cluster_unit,
        any_value(covariance) / nullif(any_value(variance), 0) as gap,
        count(*) as count_clusters,
        macros.jackknife_error(
            list(covariance_without / case when variance_without > 1e-9 then variance_without end),
            any_value(covariance) / nullif(any_value(variance), 0)
        ) as standard_error

    from scopes
    group by run_tag, model_id, cluster_unit

),

tested as (

    select
        gaps.*,
        macros.at_least(gaps.gap - macros.t_half_width(gaps.standard_error, t_quantiles.t_95), -1) as ci_low,
        macros.at_most(gaps.gap + macros.t_half_width(gaps.standard_error, t_quantiles.t_95), 1) as ci_high,
        macros.student_t_p(gaps.gap / gaps.standard_error, gaps.count_clusters - 1) as p_value,
        macros.reason_of(gaps.standard_error is null, gaps.count_clusters, gaps.gap, gaps.count_clusters, gaps.cluster_unit)
            as reason

    from gaps
    left join intermediate.int_t_quantiles as t_quantiles on gaps.count_clusters - 1 = t_quantiles.df

),

final as (

    select
        debaters.run_tag, debaters.model_id,
        coalesce(totals.count_speeches, 0) as count_speeches,
        coalesce(totals.count_truncated, 0) as count_truncated_turns,
        totals.count_truncated / totals.count_speeches as truncated_rate,
        case when totals.count_speeches is null then 'not_recorded' end as truncated_rate_reason,
        coalesce(totals.n, 0) as count_debates,
        coalesce(totals.x, 0) as count_truncated_debates,
        totals.xy / nullif(totals.x, 0) as truncated_win_rate,
        (totals.y - totals.xy) / nullif(totals.n - totals.x, 0) as other_win_rate,
        own.gap as win_rate_gap,
        own.ci_low as win_rate_gap_ci_low,
        own.ci_high as win_rate_gap_ci_high,
        own.p_value as win_rate_gap_p_value,
        case
            when totals.count_speeches is null then 'not_recorded'
            when totals.n = 0 then 'no_cases'
            when totals.x = 0 then 'never_truncated'
            when totals.x = totals.n then 'always_truncated'
            else own.reason
        end as win_rate_gap_reason,
        of_run.gap as run_win_rate_gap,
        of_run.ci_low as run_win_rate_gap_ci_low,
        of_run.ci_high as run_win_rate_gap_ci_high,
        of_run.p_value as run_win_rate_gap_p_value,
        case
            when of_run.run_tag is null then coalesce(win_rate_gap_reason, 'no_cases')
            when of_run.gap is null then 'not_compared'
            else of_run.reason
        end as run_win_rate_gap_reason

    from staging.stg_debaters as debaters
    left join totals using (run_tag, model_id)
    left join tested as own using (run_tag, model_id)
    left join tested as of_run on debaters.run_tag = of_run.run_tag and of_run.model_id is null

)

select * from final
order by run_tag, truncated_rate desc nulls last, model_id
