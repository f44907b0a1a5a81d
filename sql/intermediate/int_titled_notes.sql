-- One row per statement of a judge: what it is, in words, for pages and people. Those on attacked copies are included.
with

notes as (

    select * from staging.stg_judge_notes
    union all
    select * from staging.stg_attacked_notes

),

final as (

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
                when 'stance' then concat(
                    concat_ws(', ', concat('Speech ', turn_index + 1), position),
                    ' argues ',
                    case score when 1 then 'for the motion' when -1 then 'against the motion' else 'for neither side' end
                )
            end,
            case when dimension is not null then concat(' (', dimension, ')') end
        ) as title,
        text

    from notes

)

select * from final
