-- One row per valid verdict with scores that the judge noted for positions, dimension (or `overall`) and position.
with

-- In debates of two sides, the position is the side, and the best score of a side's debaters counts.
noted as (

    select
        notes.run_tag, notes.debate_id, notes.judge_id, notes.dimension, participants.side,
        case debates.format when 'two_sided' then participants.side else notes.position end as position,
        max(notes.score) as score

    from staging.stg_judge_notes as notes
    inner join staging.stg_verdicts as verdicts using (run_tag, debate_id, judge_id)
    inner join staging.stg_debates as debates using (run_tag, debate_id)
    inner join staging.stg_participants as participants using (run_tag, debate_id, position)
    where notes.step = 'score' and notes.score is not null and verdicts.is_valid
    group by all

),

noted_dimensions as (

    select distinct run_tag, debate_id, judge_id, dimension from noted

),

noted_verdicts as (

    select distinct run_tag, debate_id, judge_id from noted

),

noted_wholes as (

    select distinct run_tag, debate_id, judge_id from noted
    where dimension is null

),

by_dimension as (

    select run_tag, debate_id, judge_id, dimension, side, position, score from noted
    where dimension <> 'overall'

    union all

    select
        scores.run_tag, scores.debate_id, scores.judge_id, scores.dimension, sides.side,
        sides.side as position,
        case sides.side when 'pro' then scores.pro_score else scores.con_score end as score

    from marts.verdict_scores as scores
    inner join noted_verdicts using (run_tag, debate_id, judge_id)
    inner join staging.stg_debates as debates using (run_tag, debate_id)
    left join noted_dimensions as noted using (run_tag, debate_id, judge_id, dimension)
    cross join (values ('pro'), ('con')) as sides (side)
    where noted.run_tag is null and debates.format = 'two_sided' and scores.dimension <> 'overall'

),

means as (

    select
        scores.run_tag, scores.debate_id, scores.judge_id, scores.side, scores.position,
        macros.weighted_mean(sum(dimensions.weight * scores.score), sum(dimensions.weight)) as score

    from by_dimension as scores
    inner join staging.stg_dimensions as dimensions using (run_tag, dimension)
    left join noted_wholes as noted using (run_tag, debate_id, judge_id)
    where noted.run_tag is null
    group by scores.run_tag, scores.debate_id, scores.judge_id, scores.side, scores.position

),

final as (

    select
        run_tag, debate_id, judge_id, dimension, side, position,
        cast(score as decimal(38, 12)) as score

    from by_dimension

    union all

    select
        run_tag, debate_id, judge_id,
        'overall' as dimension,
        side, position,
        cast(score as decimal(38, 12)) as score

    from noted
    where dimension is null

    union all

    select
        run_tag, debate_id, judge_id,
        'overall' as dimension,
        side, position,
        cast(score as decimal(38, 12)) as score

    from means
    where score is not null

)

select * from final
