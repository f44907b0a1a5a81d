-- One row per side into which a weakness was injected, under an id that means one thing in all runs.
with

named as (

    select
        weaknesses.*,
        case
            when weaknesses.taxonomy is not null then weaknesses.taxonomy
            when runs.format = 'debateflow' then 'debateflow'
            -- The first versions had one taxonomy, three ids of which are DebateFlow's for other flaws.
            when
                weaknesses.weakness_type in (
                    'weak_evidence', 'argument_dropping', 'logical_gaps', 'burden_of_proof', 'side_concession'
                )
                then 'debatebench'
        end as known_taxonomy

    from raw.weaknesses
    inner join raw.runs using (run_tag)

),

final as (

    select
        run_tag, debate_id, side,
        case when taxonomy is null and known_taxonomy = 'debatebench' then
            case weakness_type
                when 'argument_dropping' then 'strongest_argument_dropped'
                when 'burden_of_proof' then 'burden_and_side_issues'
                when 'side_concession' then 'point_conceded'
                else weakness_type
            end
        else weakness_type end as weakness_type,
        known_taxonomy as taxonomy,
        dimension, metadata

    from named

)

select * from final
