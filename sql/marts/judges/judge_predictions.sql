-- One row per verdict and dimension of its run, and one for the whole debate (`overall`).
with

-- Only dimensions have a band in which scores count as equal.
dimensions as (

    select run_tag, dimension, tie_band from staging.stg_dimensions
    where dimension <> 'overall'

    union all

    select
        run_tag,
        'overall' as dimension,
        0 as tie_band

    from staging.stg_runs

),

scored as (

    select
        run_tag, debate_id, judge_id, dimension,
        max(case when side = 'pro' then score end) as pro_score,
        max(case when side = 'con' then score end) as con_score,
        max(score) as best_score,
        list(case when position is not null then {'position': position, 'score': score} end) as positions

    from marts.position_scores
    group by run_tag, debate_id, judge_id, dimension

),

named as (

    select
        notes.run_tag, notes.debate_id, notes.judge_id,
        coalesce(notes.dimension, 'overall') as dimension,
        case when count(distinct participants.side) = 2 then 'tie' else min(participants.side) end as winner,
        list_sort(
            list(distinct case debates.format when 'two_sided' then participants.side else notes.position end)
        ) as positions

    from staging.stg_judge_notes as notes
    inner join staging.stg_debates as debates using (run_tag, debate_id)
    inner join staging.stg_participants as participants using (run_tag, debate_id, position)
    where notes.step = 'winner' and notes.dimension is distinct from 'overall'
    group by notes.run_tag, notes.debate_id, notes.judge_id, notes.dimension

),

verdicts as (

    select
        verdicts.run_tag, verdicts.debate_id, verdicts.judge_id, verdicts.is_valid, debates.format,
        judges.method, judges.is_baseline, sources.source_run_tag, sources.source_debate_id, sources.trial,
        dimensions.dimension,
        case debates.format when 'two_sided' then dimensions.tie_band else 0 end as tie_band,
        case dimensions.dimension when 'overall' then verdicts.declared_winner end as declared_winner,
        scored.pro_score, scored.con_score, scored.best_score,
        scored.positions as scored_positions,
        named.winner as named_winner,
        named.positions as named_positions

    from staging.stg_verdicts as verdicts
    inner join staging.stg_debates as debates using (run_tag, debate_id)
    inner join staging.stg_judges as judges using (run_tag, judge_id)
    inner join intermediate.int_debate_sources as sources using (run_tag, debate_id)
    inner join dimensions using (run_tag)
    left join scored using (run_tag, debate_id, judge_id, dimension)
    left join named using (run_tag, debate_id, judge_id, dimension)

),

predictions as (

    select
        *,
        case
            when pro_score is null or con_score is null then null
            when abs(pro_score - con_score) <= tie_band then 'tie'
            when pro_score > con_score then 'pro'
            else 'con'
        end as score_comparison,
        list_sort(
            list_transform(
                list_filter(scored_positions, lambda each: each.score >= best_score - tie_band),
                lambda each: each.position
            )
        ) as best_positions,
        case when is_valid then coalesce(named_winner, declared_winner) end as direct_prediction,
        coalesce(
            named_positions,
            case
                when format <> 'two_sided' then null
                when declared_winner = 'tie' then ['con', 'pro']
                else [declared_winner]
            end
        ) as direct_choices

    from verdicts

),

final as (

    select
        run_tag, debate_id, judge_id, method, is_baseline, format, source_run_tag, source_debate_id, trial, dimension,
        is_valid,
        cast(pro_score as double) as pro_score,
        cast(con_score as double) as con_score,
        score_comparison,
        case when score_comparison is not null and len(best_positions) > 0 then best_positions end as score_positions,
        direct_prediction,
        case when direct_prediction is not null then direct_choices end as direct_positions,
        coalesce(direct_prediction, score_comparison) as prediction,
        case
            when direct_prediction is not null then direct_choices
            when score_comparison is not null and len(best_positions) > 0 then best_positions
        end as predicted_positions

    from predictions

)

select * from final
