-- One row per person who ranked four teams, alone or in an adjudication, dimension (or `overall`) and team.
with

verdicts as (

    select run_tag, debate_id, annotator_id as person_id, false as is_adjudicated, ranks, team_scores
    from staging.stg_annotations
    where ranks is not null

    union all

    select run_tag, debate_id, adjudicator_id as person_id, true as is_adjudicated, ranks, team_scores
    from staging.stg_adjudications
    where ranks is not null

),

ranks as (

    select run_tag, debate_id, person_id, is_adjudicated, unnest(ranks) as team
    from verdicts

),

scores as (

    select run_tag, debate_id, person_id, is_adjudicated, unnest(team_scores) as team
    from verdicts

),

means as (

    select
        run_tag, debate_id, person_id, is_adjudicated,
        team.position as position,
        macros.weighted_mean(sum(team.score), count(*)) as score

    from scores
    group by run_tag, debate_id, person_id, is_adjudicated, team.position

),

-- A place is counted from the best: of the whole as it was given, on a dimension by the scores.
places as (

    select
        ranks.run_tag, ranks.debate_id, ranks.person_id, ranks.is_adjudicated,
        'overall' as dimension,
        ranks.team.position as position,
        cast(ranks.team.rank as bigint) as place,
        means.score

    from ranks

    left join means
        on ranks.run_tag = means.run_tag
        and ranks.debate_id = means.debate_id
        and ranks.person_id = means.person_id
        and ranks.is_adjudicated = means.is_adjudicated
        and ranks.team.position = means.position

    union all

    select
        run_tag, debate_id, person_id, is_adjudicated,
        team.dimension as dimension,
        team.position as position,
        rank() over (
            partition by run_tag, debate_id, person_id, is_adjudicated, team.dimension
            order by team.score desc
        ) as place,
        cast(team.score as decimal(38, 12)) as score

    from scores
    where team.dimension <> 'overall'

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
