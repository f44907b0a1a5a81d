-- One row per debate that was reviewed: the verdict on which its reviewers agree, or why there is none.
with

reviews as (

    select
        run_tag, debate_id, adjudicator_id, scores, adjudicated_at,
        is_coherent is false as is_against,
        list_sort(ranks) as ranks,
        list_sort(team_scores) as team_scores,
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
        count(distinct winner) > 1 or count(distinct ranks) > 1 as is_parted_on_winner,
        min(winner) as winner,
        min(ranks) as ranks,
        case
            when count(distinct team_scores) = 1 and count(team_scores) = count(*) then min(team_scores)
        end as team_scores

    from reviews
    group by run_tag, debate_id

),

scored as (

    select
        reviews.run_tag, reviews.debate_id,
        len(outcomes.reviewers) as count_reviewers,
        unnest(reviews.scores) as score

    from reviews
    inner join outcomes using (run_tag, debate_id)
    where not reviews.is_against

),

-- A dimension that not all reviewers score, or that they score differently, has no agreed score.
dimensions as (

    select
        run_tag, debate_id,
        score.dimension as dimension,
        min(score.pro) as pro,
        min(score.con) as con

    from scored
    group by run_tag, debate_id, score.dimension
    having
        min(score.pro) = max(score.pro) and min(score.con) = max(score.con)
        and count(*) = min(count_reviewers)

),

agreed_scores as (

    select
        run_tag, debate_id,
        list_sort(list({'dimension': dimension, 'pro': pro, 'con': con})) as scores

    from dimensions
    group by run_tag, debate_id

),

said as (

    select
        *,
        case
            when is_no_debate then 'not_coherent'
            when is_parted_on_coherence then 'reviewers_differ_on_coherence'
            when is_parted_on_winner then 'reviewers_differ_on_the_winner'
            when winner is not null or ranks is not null then 'agreed'
            else 'no_winner'
        end as outcome

    from outcomes

),

final as (

    select
        said.run_tag, said.debate_id, said.reviewers, said.outcome, said.is_no_debate,
        case when said.outcome = 'agreed' then said.winner end as winner,
        case when said.outcome = 'agreed' then agreed_scores.scores end as scores,
        case when said.outcome = 'agreed' then said.ranks end as ranks,
        case when said.outcome = 'agreed' then said.team_scores end as team_scores

    from said
    left join agreed_scores using (run_tag, debate_id)

)

select * from final
