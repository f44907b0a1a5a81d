-- One row per verdict and dimension of its run, and one for the whole debate (`overall`).
with

weights as (

    select
        run_tag,
        -- Wide enough for the largest score times the largest weight.
        map(list(dimension), list(cast(weight as decimal(38, 6)))) as weights

    from staging.stg_dimensions
    where dimension <> 'overall'
    group by run_tag

),

noted as (

    select
        run_tag, debate_id, judge_id, dimension,
        max(case when side = 'pro' then score end) as pro_score,
        max(case when side = 'con' then score end) as con_score,
        max(score) as best_score,
        list({'position': position, 'score': score}) as positions

    from intermediate.int_noted_scores as noted_scores
    group by run_tag, debate_id, judge_id, dimension

),

-- Lists are read in place: rows for all scores of all verdicts would have to be grouped before any could be left out.
verdicts as (

    select
        verdicts.run_tag, verdicts.debate_id, verdicts.judge_id, verdicts.is_valid, verdicts.presented_first,
        debates.format,
        judges.method, judges.is_baseline, sources.source_run_tag, sources.source_debate_id, sources.trial,
        people.debate_id is not null as has_truth,
        weakened.debate_id is not null as has_weakness,
        repeated.debate_id is not null as is_repeated,
        dimensions.dimension,
        case debates.format when 'two_sided' then dimensions.tie_band else 0 end as tie_band,
        case dimensions.dimension when 'overall' then verdicts.declared_winner end as declared_winner,
        case
            when not verdicts.is_valid then null
            when dimensions.dimension = 'overall' then
                {
                    'pro': list_sum(list_transform(verdicts.scores, lambda each: each.pro * weights[each.dimension])),
                    'con': list_sum(list_transform(verdicts.scores, lambda each: each.con * weights[each.dimension])),
                    'weight': list_sum(list_transform(verdicts.scores, lambda each: weights[each.dimension]))
                }
            else
                list_transform(
                    list_filter(verdicts.scores, lambda each: each.dimension = dimensions.dimension),
                    lambda each: {'pro': each.pro, 'con': each.con, 'weight': 1}
                )[1]
        end as stated,
        noted.judge_id is not null as is_noted,
        noted.pro_score, noted.con_score, noted.best_score,
        noted.positions as noted_positions,
        named.winner as named_winner,
        named.positions as named_positions

    from staging.stg_verdicts as verdicts
    inner join staging.stg_debates as debates using (run_tag, debate_id)
    inner join staging.stg_judges as judges using (run_tag, judge_id)
    inner join intermediate.int_debate_sources as sources using (run_tag, debate_id)
    left join intermediate.int_truth_debates as people using (run_tag, debate_id)
    left join intermediate.int_weakness_debates as weakened using (run_tag, debate_id)
    left join intermediate.int_repeated_debates as repeated using (run_tag, debate_id)
    inner join intermediate.int_predicted_dimensions as dimensions using (run_tag)
    left join weights using (run_tag)
    left join noted using (run_tag, debate_id, judge_id, dimension)
    left join intermediate.int_named_winners as named using (run_tag, debate_id, judge_id, dimension)

),

scored as (

    select
        * exclude (pro_score, con_score),
        case when is_noted then pro_score else macros.weighted_mean(stated.pro, stated.weight) end as pro_score,
        case when is_noted then con_score else macros.weighted_mean(stated.con, stated.weight) end as con_score

    from verdicts

),

compared as (

    select
        *,
        case
            when pro_score is null or con_score is null then null
            when abs(pro_score - con_score) <= tie_band then 'tie'
            when pro_score > con_score then 'pro'
            else 'con'
        end as score_comparison,
        case when is_valid then coalesce(named_winner, declared_winner) end as direct_prediction

    from scored

),

predictions as (

    select
        *,
        case
            when score_comparison is null then null
            when is_noted then
                list_sort(
                    list_transform(
                        list_filter(noted_positions, lambda each: each.score >= best_score - tie_band),
                        lambda each: each.position
                    )
                )
            when format <> 'two_sided' then null
            when score_comparison = 'tie' then ['con', 'pro']
            else [score_comparison]
        end as score_positions,
        case
            when direct_prediction is null then null
            when named_winner is not null then named_positions
            when format <> 'two_sided' then null
            when direct_prediction = 'tie' then ['con', 'pro']
            else [direct_prediction]
        end as direct_positions

    from compared

),

final as (

    select
        run_tag, debate_id, judge_id, method, is_baseline, format, source_run_tag, source_debate_id, trial,
        presented_first, dimension, is_valid, has_truth, has_weakness, is_repeated,
        cast(pro_score as double) as pro_score,
        cast(con_score as double) as con_score,
        score_comparison, score_positions, direct_prediction, direct_positions,
        coalesce(direct_prediction, score_comparison) as prediction,
        case when direct_prediction is null then score_positions else direct_positions end as predicted_positions

    from predictions

)

select * from final
