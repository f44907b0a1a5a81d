-- One row per statement of a judge: what it is, in words, for pages and people.
select
    run_tag, debate_id, judge_id, note_index,
    concat(
        case step
            when 'speech' then concat_ws(', ', concat('Speech ', turn_index + 1), position)
            when 'debate' then 'The whole debate'
            when 'score' then concat(
                concat_ws(' of ', 'Score', position),
                ': ',
                trim(trailing '.' from trim(trailing '0' from cast(score as varchar)))
            )
            when 'winner' then concat('Winner: ', position)
            when 'reason' then concat_ws(' for ', 'Reason', position)
            when 'summary' then 'Summary'
        end,
        case when dimension is not null then concat(' (', dimension, ')') end
    ) as title,
    text

from staging.stg_judge_notes
