-- One row per verdict and dimension (or `overall` for the whole debate) with a winner among the judge's notes.
select
    notes.run_tag, notes.debate_id, notes.judge_id,
    coalesce(notes.dimension, 'overall') as dimension,
    case when count(distinct participants.side) = 2 then 'tie' else min(participants.side) end as winner,
    list_sort(
        list(distinct case debates.format when 'two_sided' then participants.side else notes.position end)
    ) as positions

from staging.stg_judge_notes as notes
inner join staging.stg_debates as debates using (run_tag, debate_id)
inner join staging.stg_participants as participants using (run_tag, debate_id, position)
where notes.step = 'winner' and notes.dimension is distinct from 'overall'
group by notes.run_tag, notes.debate_id, notes.judge_id, notes.dimension
