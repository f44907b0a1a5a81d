-- One row per debate that was reviewed: the verdict on which its reviewers agree, or why there is none.
with

reviews as (

    select
        run_tag, debate_id, adjudicator_id, scores, adjudicated_at,
        is_coherent is false as is_against,
        coalesce(
            winner,
            macros.higher_side(
                list_sum(list_transform(scores, lambda score: score.pro)),
                list_sum(list_transform(scores, lambda score: score.con))
            )
        ) as winner

    from staging.stg_adjudications

),

outcomes as (

    select
        run_tag, debate_id,
        list_sort(list(adjudicator_id)) as reviewers,
        bool_and(is_against) as is_no_debate,
        bool_or(is_against) <> bool_and(is_against) as is_parted_on_coherence,
        count(distinct winner) > 1 as is_parted_on_winner,
        min(winner) as winner

    from reviews
    group by run_tag, debate_id

),

scored as (

    select
        run_tag, debate_id,
        unnest(scores) as score

    from reviews
    where not is_against

),

-- A dimension that reviewers score differently has no agreed score.
dimensions as (

    select
        run_tag, debate_id,
        score.dimension as dimension,
        min(score.pro) as pro,
        min(score.con) as con

    from scored
    group by run_tag, debate_id, score.dimension
    having min(score.pro) = max(score.pro) and min(score.con) = max(score.con)

),

agreed_scores as (

    select
        run_tag, debate_id,
        list_sort(list({'dimension': dimension, 'pro': pro, 'con': con})) as scores

    from dimensions
    group by run_tag, debate_id

),

final as (

    select
        outcomes.run_tag, outcomes.debate_id, outcomes.reviewers,
        case
            when outcomes.is_no_debate then 'not_coherent'
            when outcomes.is_parted_on_coherence then 'reviewers_differ_on_coherence'
            when outcomes.is_parted_on_winner then 'reviewers_differ_on_the_winner'
            when outcomes.winner is not null then 'agreed'
            else 'no_winner'
        end as outcome,
        outcomes.is_no_debate,
        case
            when not (outcomes.is_parted_on_coherence or outcomes.is_parted_on_winner or outcomes.is_no_debate)
                then outcomes.winner
        end as winner,
        case
            when not (outcomes.is_parted_on_coherence or outcomes.is_parted_on_winner or outcomes.is_no_debate)
                then agreed_scores.scores
        end as scores

    from outcomes
    left join agreed_scores using (run_tag, debate_id)

)

select * from final
