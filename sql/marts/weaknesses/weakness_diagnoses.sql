-- One row per judge or annotator and debate with a weakness, if it compares the sides on the dimension that should suffer.
with

wholes as (

    select * from intermediate.int_weakness_verdicts as weakness_verdicts
    where not is_control and dimension = 'overall' and winner is not null

),

marks as (

    select
        run_tag, debate_id, judge_id, is_person,
        list_sort(list(marked_dimension)) as marked_dimensions

    from intermediate.int_weakness_marks as weakness_marks
    group by run_tag, debate_id, judge_id, is_person

),

compared as (

    select
        wholes.run_tag, wholes.debate_id, wholes.judge_id, wholes.is_person, wholes.method, wholes.is_baseline,
        wholes.source_run_tag, wholes.source_debate_id, wholes.cluster_id, wholes.cluster_unit, wholes.weakness_type,
        wholes.side, wholes.weak_dimension,
        case details.side when 'pro' then details.pro_score else details.con_score end as weak_score,
        case details.side when 'pro' then details.con_score else details.pro_score end as other_score,
        case when details.winner = 'tie' then 'equal' when details.winner = details.side then 'higher' else 'lower' end
            as dimension_outcome,
        case when wholes.winner = 'tie' then 'ties' when wholes.winner = wholes.side then 'wins' else 'loses' end
            as outcome,
        -- The first that holds counts, so each verdict has exactly one.
        case
            when dimension_outcome = 'higher' or outcome = 'wins' then 'rewards it'
            when dimension_outcome = 'lower' then 'sees it'
            when outcome = 'loses' then 'blames another dimension'
            else 'misses it'
        end as diagnosis

    from wholes

    inner join intermediate.int_weakness_verdicts as details
        on wholes.run_tag = details.run_tag
        and wholes.debate_id = details.debate_id
        and wholes.judge_id = details.judge_id
        and wholes.is_person = details.is_person
        and wholes.weak_dimension = details.dimension
        and details.winner is not null

),

final as (

    select
        run_tag, debate_id, judge_id, is_person, compared.method, compared.is_baseline, compared.source_run_tag,
        compared.source_debate_id, compared.cluster_id, compared.cluster_unit, compared.weakness_type,
        compared.side, compared.weak_dimension, compared.weak_score, compared.other_score, compared.dimension_outcome,
        compared.outcome, compared.diagnosis, marks.marked_dimensions

    from compared
    left join marks using (run_tag, debate_id, judge_id, is_person)

)

select * from final
