-- One row per judge of a run and, where people gave verdicts on its debates, per source, format and truth.
with

prices as (

    select
        run_tag, judge_id, method, judges.is_baseline, judges.is_simulated, count_verdicts,
        case when count_unpriced = 0 then macros.cost_each(cost_usd, count_verdicts) end as cost_per_verdict_usd

    from staging.stg_judges as judges
    inner join marts.judge_costs using (run_tag, judge_id)

),

measured as (

    select
        prices.*,
        quality.source_run_tag, quality.format, quality.truth, quality.count_debates, quality.accuracy,
        quality.accuracy_ci_low, quality.accuracy_ci_high,
        case when quality.truth is null then 'no_people' else quality.accuracy_reason end as accuracy_reason

    from prices

    left join marts.judge_quality as quality
        on prices.run_tag = quality.run_tag
        and prices.judge_id = quality.judge_id
        and quality.dimension = 'overall'

),

final as (

    select
        *,
        -- Of equally accurate judges the best is the cheapest. A baseline is a rule, and not for sale.
        truth is not null
        and accuracy is not null
        and not is_baseline
        and row_number() over (
            partition by source_run_tag, format, truth
            order by is_baseline, accuracy desc nulls last, cost_per_verdict_usd nulls last, run_tag, judge_id
        ) = 1 as is_best

    from measured

)

select * from final
