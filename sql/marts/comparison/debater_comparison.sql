-- One row per pair of subjects, debater and measure: rating, rank, win rate, scores, cost per debate.
with

rated_sides as (

    select
        pairs.*,
        'baseline' as side,
        ratings.model_id, ratings.rating, ratings.rank, ratings.games

    from intermediate.int_comparison_pairs as pairs
    inner join intermediate.int_comparison_ratings as ratings
        on pairs.baseline_kind = ratings.kind and pairs.baseline = ratings.subject

    union all

    select
        pairs.*,
        'candidate' as side,
        ratings.model_id, ratings.rating, ratings.rank, ratings.games

    from intermediate.int_comparison_pairs as pairs
    inner join intermediate.int_comparison_ratings as ratings
        on pairs.candidate_kind = ratings.kind and pairs.candidate = ratings.subject

),

ratings as (

    select
        baseline_kind, baseline, candidate_kind, candidate, model_id,
        max(case when side = 'baseline' then rating end) as baseline_rating,
        max(case when side = 'baseline' then rank end) as baseline_rank,
        max(case when side = 'baseline' then games end) as baseline_games,
        max(case when side = 'candidate' then rating end) as candidate_rating,
        max(case when side = 'candidate' then rank end) as candidate_rank,
        max(case when side = 'candidate' then games end) as candidate_games

    from rated_sides
    group by baseline_kind, baseline, candidate_kind, candidate, model_id

),

-- A rank has no error of its own.
rated_rows as (

    select
        ratings.*,
        measures.measure,
        case when measures.measure = 'rating' then ratings.baseline_rating else ratings.baseline_rank end as baseline_value,
        case when measures.measure = 'rating' then ratings.candidate_rating else ratings.candidate_rank end as candidate_value,
        case when measures.measure = 'rating' then differences.method else 'ratings' end as method,
        differences.standard_error, differences.degrees_of_freedom, differences.count_topics

    from ratings
    cross join (values ('rating'), ('rank')) as measures (measure)

    left join intermediate.int_rating_differences as differences
        on ratings.baseline_kind = differences.baseline_kind
        and ratings.baseline = differences.baseline
        and ratings.candidate_kind = differences.candidate_kind
        and ratings.candidate = differences.candidate
        and ratings.model_id = differences.model_id
        and measures.measure = 'rating'

),

unioned as (

    select
        rated_rows.baseline_kind, rated_rows.baseline, rated_rows.candidate_kind, rated_rows.candidate,
        rated_rows.model_id, rated_rows.measure,
        cast(null as varchar) as dimension,
        case
            when baseline_value is null then 'only in the candidate'
            when candidate_value is null then 'only in the baseline'
            else method
        end as method,
        baseline_value, candidate_value,
        candidate_value - baseline_value as difference,
        candidate_value - baseline_value - macros.t_half_width(nullif(standard_error, 0), t_quantiles.t_95) as ci_low,
        candidate_value - baseline_value + macros.t_half_width(nullif(standard_error, 0), t_quantiles.t_95) as ci_high,
        macros.change_p(candidate_value - baseline_value, standard_error, degrees_of_freedom) as p_value,
        case
            when candidate_value - baseline_value is null then 'no_cases'
            when measure = 'rank' then 'no_interval'
            when nullif(standard_error, 0) is null then 'no_variation'
        end as reason,
        standard_error, degrees_of_freedom,
        coalesce(baseline_games, 0) as count_baseline_debates,
        coalesce(candidate_games, 0) as count_candidate_debates,
        0 as count_pairs,
        count_topics,
        nullif(standard_error, 0) * coalesce(t_quantiles.detectable_t, 2.801585) as detectable_difference

    from rated_rows
    left join intermediate.int_t_quantiles as t_quantiles on least(rated_rows.degrees_of_freedom, 1000) = t_quantiles.df

    union all

    select
        baseline_kind, baseline, candidate_kind, candidate,
        member_id as model_id,
        measure,
        nullif(dimension, '') as dimension,
        method, baseline_value, candidate_value, difference, ci_low, ci_high, p_value, reason, standard_error,
        degrees_of_freedom, count_baseline_debates, count_candidate_debates, count_pairs, count_topics, detectable_difference

    from intermediate.int_comparison_differences as comparison_differences
    where role = 'debater'

),

steps as (

    select
        *,
        macros.holm_step(p_value, (baseline_kind, baseline, candidate_kind, candidate, measure)) as step

    from unioned

),

final as (

    select
        baseline_kind, baseline, candidate_kind, candidate, model_id, measure, dimension, method, baseline_value,
        candidate_value, difference, ci_low, ci_high, p_value,
        macros.holm_p(p_value, step, (baseline_kind, baseline, candidate_kind, candidate, measure)) as p_value_holm,
        case when difference is not null then coalesce(p_value_holm < 0.05, false) end as is_settled,
        reason, standard_error, degrees_of_freedom, detectable_difference, count_baseline_debates,
        count_candidate_debates, count_pairs, count_topics

    from steps

)

select * from final
