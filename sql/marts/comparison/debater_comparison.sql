-- One row per pair of subjects, debater and measure: rating, rank, win rate, scores, cost per debate.
with

rated_sides as (

    select
        pairs.*,
        'baseline' as side,
        ratings.model_id, ratings.rating, ratings.ci_low, ratings.ci_high, ratings.rank, ratings.games

    from intermediate.int_comparison_pairs as pairs
    inner join marts.comparison_ratings as ratings on pairs.baseline_kind = ratings.kind and pairs.baseline = ratings.subject

    union all

    select
        pairs.*,
        'candidate' as side,
        ratings.model_id, ratings.rating, ratings.ci_low, ratings.ci_high, ratings.rank, ratings.games

    from intermediate.int_comparison_pairs as pairs
    inner join marts.comparison_ratings as ratings on pairs.candidate_kind = ratings.kind and pairs.candidate = ratings.subject

),

ratings as (

    select
        baseline_kind, baseline, candidate_kind, candidate, model_id,
        max(case when side = 'baseline' then rating end) as baseline_rating,
        max(case when side = 'baseline' then ci_low end) as baseline_low,
        max(case when side = 'baseline' then ci_high end) as baseline_high,
        max(case when side = 'baseline' then rank end) as baseline_rank,
        max(case when side = 'baseline' then games end) as baseline_games,
        max(case when side = 'candidate' then rating end) as candidate_rating,
        max(case when side = 'candidate' then ci_low end) as candidate_low,
        max(case when side = 'candidate' then ci_high end) as candidate_high,
        max(case when side = 'candidate' then rank end) as candidate_rank,
        max(case when side = 'candidate' then games end) as candidate_games

    from rated_sides
    group by baseline_kind, baseline, candidate_kind, candidate, model_id

),

rated_rows as (

    select
        baseline_kind, baseline, candidate_kind, candidate, model_id,
        'rating' as measure,
        baseline_rating as baseline_value,
        candidate_rating as candidate_value,
        candidate_rating - baseline_rating as difference,
        macros.difference_low(candidate_rating, candidate_low, baseline_rating, baseline_high, 0) as ci_low,
        macros.difference_high(candidate_rating, candidate_high, baseline_rating, baseline_low, 0) as ci_high,
        baseline_games as count_baseline_debates,
        candidate_games as count_candidate_debates

    from ratings

    union all

    select
        baseline_kind, baseline, candidate_kind, candidate, model_id,
        'rank' as measure,
        cast(baseline_rank as double) as baseline_value,
        cast(candidate_rank as double) as candidate_value,
        cast(candidate_rank - baseline_rank as double) as difference,
        null as ci_low,
        null as ci_high,
        baseline_games as count_baseline_debates,
        candidate_games as count_candidate_debates

    from ratings

),

unioned as (

    select
        baseline_kind, baseline, candidate_kind, candidate, model_id, measure,
        cast(null as varchar) as dimension,
        case
            when baseline_value is null then 'only in the candidate'
            when candidate_value is null then 'only in the baseline'
            else 'ratings'
        end as method,
        baseline_value,
        candidate_value,
        difference,
        ci_low,
        ci_high,
        macros.error_of_interval(ci_low, ci_high) as standard_error,
        cast(null as bigint) as degrees_of_freedom,
        coalesce(count_baseline_debates, 0) as count_baseline_debates,
        coalesce(count_candidate_debates, 0) as count_candidate_debates,
        0 as count_pairs,
        cast(null as bigint) as count_topics

    from rated_rows

    union all

    select
        baseline_kind, baseline, candidate_kind, candidate,
        member_id as model_id,
        measure,
        nullif(dimension, '') as dimension,
        method, baseline_value, candidate_value, difference, ci_low, ci_high, standard_error, degrees_of_freedom,
        count_baseline_debates, count_candidate_debates, count_pairs, count_topics

    from marts.comparison_differences
    where role = 'debater'

),

final as (

    select
        baseline_kind, baseline, candidate_kind, candidate, model_id, measure, dimension, method, baseline_value,
        candidate_value, difference, ci_low, ci_high, standard_error, degrees_of_freedom,
        macros.detectable_difference(ci_low, ci_high, standard_error) as detectable_difference,
        count_baseline_debates, count_candidate_debates, count_pairs, count_topics

    from unioned

)

select * from final
