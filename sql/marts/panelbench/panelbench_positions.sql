-- One row per judge, format and position (or `tie`, or `none` for no prediction), over debates with gold verdicts.
with

choices as (

    select
        predictions.run_tag, predictions.judge_id, predictions.method, predictions.is_baseline,
        predictions.source_run_tag, predictions.source_debate_id, predictions.format,
        clusters.cluster_id, clusters.cluster_unit,
        case
            when predictions.format = 'two_sided' then [coalesce(predictions.prediction, 'none')]
            else coalesce(predictions.predicted_positions, ['none'])
        end as chosen,
        coalesce(truths.winning_positions, [truths.winner]) as won

    from marts.judge_predictions as predictions

    inner join marts.truths
        on predictions.source_run_tag = truths.run_tag
        and predictions.source_debate_id = truths.debate_id
        and predictions.dimension = truths.dimension

    inner join intermediate.int_clusters as clusters
        on predictions.run_tag = clusters.run_tag
        and predictions.debate_id = clusters.debate_id

    where predictions.has_truth and predictions.dimension = 'overall' and truths.truth = 'gold'

),

positions as (

    select
        'two_sided' as format,
        unnest(['pro', 'tie', 'con', 'none']) as position

    union all

    select
        'british_parliamentary' as format,
        unnest(['OG', 'OO', 'CG', 'CO', 'none']) as position

),

-- Where several positions are named, each has an equal share; the trials of a debate are averaged.
debates as (

    select
        choices.run_tag, choices.judge_id, choices.method, choices.is_baseline, choices.source_run_tag,
        choices.format, choices.source_debate_id, choices.cluster_id, choices.cluster_unit, positions.position,
        avg(
            case when list_contains(choices.chosen, positions.position) then cast(1 as double) / len(chosen) else 0 end
        ) as chosen_share,
        max(
            case when list_contains(choices.won, positions.position) then cast(1 as double) / len(won) else 0 end
        ) as gold_share,
        max(case when list_contains(choices.won, positions.position) then 1 else 0 end) as has_won

    from choices
    inner join positions using (format)
    group by all

),

cluster_sums as (

    select
        run_tag, judge_id, method, is_baseline, source_run_tag, format, position, cluster_unit, cluster_id,
        count(*) as n,
        sum(cast(chosen_share as decimal(38, 18))) as chosen,
        sum(cast(gold_share as decimal(38, 18))) as gold,
        sum(has_won) as wins

    from debates
    group by run_tag, judge_id, method, is_baseline, source_run_tag, format, position, cluster_unit, cluster_id

),

rates as (

    select
        run_tag, judge_id, method, is_baseline, source_run_tag, format, position, cluster_unit,
        cast(sum(n) as bigint) as n,
        count(*) as count_clusters,
        cast(sum(chosen) as double) / sum(n) as chosen_rate,
        cast(sum(gold) as double) / sum(n) as gold_rate,
        cast(sum(wins) as bigint) as count_won,
        list({'n': n, 'y': cast(chosen as double)}) as clusters

    from cluster_sums
    group by run_tag, judge_id, method, is_baseline, source_run_tag, format, position, cluster_unit

),

counted as (

    select
        rates.*,
        macros.effective_count(
            rates.chosen_rate, rates.n, rates.count_clusters, macros.mean_error(rates.clusters, rates.chosen_rate),
            of_debates.t_95, of_clusters.t_95
        ) as effective_n

    from rates
    left join intermediate.int_t_quantiles as of_debates on rates.n - 1 = of_debates.df
    left join intermediate.int_t_quantiles as of_clusters on rates.count_clusters - 1 = of_clusters.df

),

final as (

    select
        run_tag, judge_id, method, is_baseline, source_run_tag, format, position,
        n as count_debates,
        chosen_rate,
        macros.wilson_low(chosen_rate * effective_n, effective_n) as chosen_rate_ci_low,
        macros.wilson_high(chosen_rate * effective_n, effective_n) as chosen_rate_ci_high,
        macros.reason_of(effective_n is null, n, chosen_rate, count_clusters, cluster_unit) as chosen_rate_reason,
        gold_rate, count_won

    from counted

)

select * from final
