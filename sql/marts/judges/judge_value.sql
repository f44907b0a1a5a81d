-- One row per judge of a run and, where people gave verdicts on its debates, per source, format and truth.
with

-- Materialised, because it is read twice.
prices as materialized (

    select * from intermediate.int_judge_prices

),

best as (

    select source_run_tag, format, truth, run_tag, judge_id
    from prices
    where is_best

),

-- On the debates that both judged, the topic is the observation.
clusters as (

    select
        own.source_run_tag, own.format, own.truth, own.run_tag, own.judge_id, own.cluster_id, own.cluster_unit,
        count(*) as n,
        sum(cast(own.accuracy as decimal(38, 18)) - cast(other.accuracy as decimal(38, 18))) as difference

    from marts.judge_errors as own
    inner join best using (source_run_tag, format, truth)

    inner join marts.judge_errors as other
        on best.run_tag = other.run_tag
        and best.judge_id = other.judge_id
        and own.source_run_tag = other.source_run_tag
        and own.source_debate_id = other.source_debate_id
        and own.truth = other.truth
        and own.dimension = other.dimension

    where
        own.dimension = 'overall'
        and own.accuracy is not null
        and other.accuracy is not null
        and (own.run_tag, own.judge_id) <> (best.run_tag, best.judge_id)

    group by all

),

gaps as (

    select
        source_run_tag, format, truth, run_tag, judge_id, cluster_unit,
        cast(sum(n) as bigint) as n,
        cast(sum(difference) as double) / sum(n) as gap,
        count(*) as count_clusters,
        macros.mean_error(list({'n': n, 'y': cast(difference as double)}), cast(sum(difference) as double) / sum(n))
            as standard_error,
        macros.difference_p(
            cast(sum(difference) as double) / sum(n),
            standard_error,
            count(*),
            count(case when difference > 0 then 1 end),
            count(case when difference < 0 then 1 end),
            max(n) = 1 and bool_and(difference in (-1, 0, 1))
        ) as p_value

    from clusters
    group by source_run_tag, format, truth, run_tag, judge_id, cluster_unit

),

steps as (

    select
        gaps.*,
        macros.t_half_width(nullif(gaps.standard_error, 0), t_quantiles.t_95) as half_width,
        macros.holm_step(gaps.p_value, (gaps.source_run_tag, gaps.format, gaps.truth)) as step

    from gaps
    left join intermediate.int_t_quantiles as t_quantiles on gaps.count_clusters - 1 = t_quantiles.df

),

compared as (

    select
        prices.*,
        best.run_tag as best_run_tag,
        best.judge_id as best_judge_id,
        steps.n as count_common_debates,
        steps.gap as gap_to_best,
        macros.at_least(steps.gap - steps.half_width, -1) as ci_low,
        macros.at_most(steps.gap + steps.half_width, 1) as ci_high,
        steps.p_value,
        macros.holm_p(steps.p_value, steps.step, (source_run_tag, format, truth)) as p_value_holm,
        case
            when prices.truth is null then 'no_people'
            when prices.is_best then 'is_best'
            else
                macros.reason_of(
                    steps.half_width is null or steps.p_value is null,
                    steps.n, steps.gap, steps.count_clusters, steps.cluster_unit
                )
        end as reason

    from prices
    left join steps using (source_run_tag, format, truth, run_tag, judge_id)
    left join best using (source_run_tag, format, truth)

),

flagged as (

    select
        *,
        case when is_best then true else p_value_holm >= 0.05 end as is_near_best

    from compared

),

final as (

    select
        run_tag, judge_id, method, is_baseline, is_simulated, source_run_tag, format, truth,
        count_verdicts, cost_per_verdict_usd,
        case when cost_per_verdict_usd is null then 'no_cost' end as cost_reason,
        coalesce(count_debates, 0) as count_debates,
        accuracy, accuracy_ci_low, accuracy_ci_high, accuracy_reason,
        best_run_tag, best_judge_id,
        coalesce(count_common_debates, 0) as count_common_debates,
        gap_to_best, ci_low, ci_high, p_value, p_value_holm, reason, is_near_best,
        case
            when is_near_best and not is_baseline and cost_per_verdict_usd is not null then
                cost_per_verdict_usd
                = min(case when is_near_best and not is_baseline then cost_per_verdict_usd end) over (
                    partition by source_run_tag, format, truth
                )
            when is_near_best is not null then false
        end as is_cheapest

    from flagged

)

select * from final
order by source_run_tag, format, truth, cost_per_verdict_usd nulls last, run_tag, judge_id
