create macro collection_name(source_run_tag, format, truth) as
    concat(
        source_run_tag,
        case format when 'two_sided' then ', two sides' when 'british_parliamentary' then ', four teams' else '' end,
        case truth
            when 'gold' then ', gold verdicts'
            when 'annotations' then ', annotations'
            when 'adjudicated' then ', adjudicated verdicts'
            else ''
        end
    )
