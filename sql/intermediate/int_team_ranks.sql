-- One row per valid verdict on a debate of four teams that says which teams win, and team: its place.
with

-- Judges name teams in their notes, or score them there.
noted as (

    select run_tag, debate_id, judge_id from intermediate.int_noted_scores
    where dimension = 'overall'

    union

    select run_tag, debate_id, judge_id from intermediate.int_named_winners
    where dimension = 'overall'

),

verdict_teams as (

    select
        predictions.run_tag, predictions.debate_id, predictions.judge_id, participants.position, participants.side,
        participants.model_id,
        list_contains(predictions.predicted_positions, participants.position) as is_named,
        scores.score

    from marts.judge_predictions as predictions
    inner join noted using (run_tag, debate_id, judge_id)
    inner join staging.stg_participants as participants using (run_tag, debate_id)

    left join intermediate.int_noted_scores as scores
        on predictions.run_tag = scores.run_tag
        and predictions.debate_id = scores.debate_id
        and predictions.judge_id = scores.judge_id
        and predictions.dimension = scores.dimension
        and participants.position = scores.position

    where
        predictions.format <> 'two_sided'
        and predictions.dimension = 'overall'
        and predictions.is_valid
        and not predictions.is_baseline
        and len(predictions.predicted_positions) > 0

),

-- Scores do not put one named team above another: the judge says that they share the win.
keyed as (

    select
        *,
        case when not is_named then score end as score_below

    from verdict_teams

),

final as (

    select
        run_tag, debate_id, judge_id, position, side, model_id, is_named,
        -- Teams that share places have the mean of the places.
        rank() over verdicts
        + cast(
            count(*) over (partition by run_tag, debate_id, judge_id, is_named, score_below) - 1 as double
        ) / 2 as rank,
        cast(score as double) as score

    from keyed
    window verdicts as (
        partition by run_tag, debate_id, judge_id order by is_named desc, score_below desc nulls last
    )

)

select * from final
