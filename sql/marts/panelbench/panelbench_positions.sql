-- One row per judge, format and position (or `tie`, or `none` for no prediction), over debates with gold verdicts.
with

choices as (

    select
        predictions.run_tag, predictions.judge_id, predictions.method, predictions.is_baseline,
        predictions.source_run_tag, predictions.source_debate_id, predictions.format,
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
        choices.format, choices.source_debate_id, positions.position,
        avg(
            case when list_contains(choices.chosen, positions.position) then cast(1 as double) / len(chosen) else 0 end
        ) as chosen_share,
        max(
            case when list_contains(choices.won, positions.position) then cast(1 as double) / len(won) else 0 end
        ) as gold_share

    from choices
    inner join positions using (format)
    group by all

),

sums as (

    select
        run_tag, judge_id, method, is_baseline, source_run_tag, format, position,
        count(*) as count_debates,
        cast(sum(cast(chosen_share as decimal(38, 18))) as double) as chosen,
        cast(sum(cast(gold_share as decimal(38, 18))) as double) as won

    from debates
    group by run_tag, judge_id, method, is_baseline, source_run_tag, format, position

),

final as (

    select
        run_tag, judge_id, method, is_baseline, source_run_tag, format, position, count_debates,
        chosen / count_debates as chosen_rate,
        macros.wilson_low(chosen, count_debates) as chosen_rate_ci_low,
        macros.wilson_high(chosen, count_debates) as chosen_rate_ci_high,
        won / count_debates as gold_rate

    from sums

)

select * from final
