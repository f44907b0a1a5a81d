-- One row per person who ranked four teams, alone or in an adjudication, dimension (or `overall`) and team.
with

verdicts as (

    select run_tag, debate_id, annotator_id as person_id, false as is_adjudicated, ranks, team_scores
    from staging.stg_annotations
    where
        ranks is not null and skip_reason is null and is_coherent is not false
        and (run_tag, debate_id) not in (
            select run_tag, debate_id from intermediate.int_agreed_verdicts where is_no_debate
        )

    union all

    select
        run_tag, debate_id,
        array_to_string(reviewers, ', ') as person_id,
        true as is_adjudicated,
        ranks, team_scores

    from intermediate.int_agreed_verdicts
    where ranks is not null

),

ranks as (

    select run_tag, debate_id, person_id, is_adjudicated, unnest(ranks) as each
    from verdicts

),

scores as (

    select run_tag, debate_id, person_id, is_adjudicated, unnest(team_scores) as each
    from verdicts

),

means as (

    select
        run_tag, debate_id, person_id, is_adjudicated,
        each.team as position,
        macros.weighted_mean(sum(each.score), count(*)) as score

    from scores
    group by run_tag, debate_id, person_id, is_adjudicated, each.team

),

-- A place is counted from the best: of the whole as it was given, on a dimension by the scores.
places as (

    select
        ranks.run_tag, ranks.debate_id, ranks.person_id, ranks.is_adjudicated,
        'overall' as dimension,
        ranks.each.team as position,
        cast(ranks.each.rank as bigint) as place,
        means.score

    from ranks

    left join means
        on ranks.run_tag = means.run_tag
        and ranks.debate_id = means.debate_id
        and ranks.person_id = means.person_id
        and ranks.is_adjudicated = means.is_adjudicated
        and ranks.each.team = means.position

    union all

    select
        run_tag, debate_id, person_id, is_adjudicated,
        each.dimension as dimension,
        each.team as position,
        rank() over (
            partition by run_tag, debate_id, person_id, is_adjudicated, each.dimension
            order by each.score desc
        ) as place,
        cast(each.score as decimal(38, 12)) as score

    from scores
    where each.dimension <> 'overall'

),

final as (

    select
        run_tag, debate_id, person_id, is_adjudicated, dimension, position,
        place + cast(
            count(*) over (partition by run_tag, debate_id, person_id, is_adjudicated, dimension, place) - 1 as double
        ) / 2 as rank,
        place = 1 as is_winner,
        score

    from places

)

select * from final
