-- One row per verdict on a debate of four teams that people judged, truth and team.
with

truths as (

    select run_tag, debate_id, truth, winning_positions
    from marts.truths
    where dimension = 'overall' and winning_positions is not null

),

people as (

    select
        run_tag, debate_id,
        case when is_adjudicated then 'adjudicated' else 'annotations' end as truth,
        position,
        cast(sum(rank) as double) / count(*) as rank,
        cast(sum(score) as double) / count(score) as score

    from intermediate.int_team_opinions
    where dimension = 'overall'
    group by run_tag, debate_id, is_adjudicated, position

),

final as (

    select
        predictions.run_tag, predictions.debate_id, predictions.judge_id, predictions.method, predictions.is_baseline,
        predictions.source_run_tag, predictions.source_debate_id, predictions.trial,
        truths.truth, participants.position, participants.side,
        list_contains(truths.winning_positions, participants.position) as is_winner,
        people.rank as people_rank,
        people.score as people_score,
        list_contains(predictions.predicted_positions, participants.position) as is_named,
        ranks.rank as judge_rank,
        ranks.score as judge_score,
        list_contains(string_split(teams.panel_winner, ' '), participants.position) as is_panel_winner

    from marts.judge_predictions as predictions

    inner join truths
        on predictions.source_run_tag = truths.run_tag
        and predictions.source_debate_id = truths.debate_id

    inner join staging.stg_participants as participants
        on predictions.run_tag = participants.run_tag
        and predictions.debate_id = participants.debate_id

    left join people
        on predictions.source_run_tag = people.run_tag
        and predictions.source_debate_id = people.debate_id
        and truths.truth = people.truth
        and participants.position = people.position

    left join intermediate.int_team_ranks as ranks
        on predictions.run_tag = ranks.run_tag
        and predictions.debate_id = ranks.debate_id
        and predictions.judge_id = ranks.judge_id
        and participants.position = ranks.position

    left join marts.team_verdicts as teams
        on predictions.run_tag = teams.run_tag
        and predictions.debate_id = teams.debate_id
        and predictions.judge_id = teams.judge_id

    where
        predictions.format = 'british_parliamentary'
        and predictions.dimension = 'overall'
        and predictions.has_truth
        and predictions.is_valid

)

select * from final
