-- One row per debate with turns of its own: how many judges and annotators found it fit to be judged, or not.
with

scores as (

    select
        run_tag, debate_id, judge_id,
        unnest(scores) as score

    from intermediate.int_panel_verdicts
    where is_valid

),

verdicts as (

    select
        sources.source_run_tag as run_tag,
        sources.source_debate_id as debate_id,
        scores.score.pro = dimensions.min_score or scores.score.con = dimensions.min_score as is_against

    from scores
    inner join intermediate.int_debate_sources as sources using (run_tag, debate_id)

    inner join staging.stg_dimensions as dimensions
        on scores.run_tag = dimensions.run_tag
        and scores.score.dimension = dimensions.dimension

    where dimensions.dimension = 'fit_to_be_judged'

),

votes as (

    select run_tag, debate_id, 'judge' as voter, is_against from verdicts

    union all

    select run_tag, debate_id, 'annotator' as voter, not is_coherent as is_against
    from staging.stg_annotations
    where is_coherent is not null

),

final as (

    select
        run_tag, debate_id,
        count(case when voter = 'judge' then 1 end) as count_asked_judges,
        count(case when voter = 'judge' and is_against then 1 end) as count_objecting_judges,
        count(case when voter = 'annotator' then 1 end) as count_asked_annotators,
        count(case when voter = 'annotator' and is_against then 1 end) as count_objecting_annotators

    from votes
    group by run_tag, debate_id

)

select * from final
