-- One row per debate of whose speeches judges were asked, blind, for which side they argue.
with

-- A debate that is judged again has the speeches of its source.
speeches as (

    select
        sources.source_run_tag as run_tag,
        sources.source_debate_id as debate_id,
        notes.run_tag as judged_run_tag,
        notes.debate_id as judged_debate_id,
        notes.judge_id,
        notes.position,
        turns.side,
        notes.score as stance

    from staging.stg_judge_notes as notes
    inner join staging.stg_verdicts as verdicts using (run_tag, debate_id, judge_id)
    inner join intermediate.int_debate_sources as sources using (run_tag, debate_id)

    inner join staging.stg_turns as turns
        on sources.source_run_tag = turns.run_tag
        and sources.source_debate_id = turns.debate_id
        and notes.turn_index = turns.turn_index

    where notes.step = 'stance' and verdicts.is_valid

),

-- A speaker is on the wrong side if most of its speeches argue for the other side.
speakers as (

    select
        run_tag, debate_id, judged_run_tag, judged_debate_id, judge_id, position,
        2 * count(case when stance = case side when 'pro' then -1 else 1 end then 1 end) > count(*) as is_wrong

    from speeches
    group by run_tag, debate_id, judged_run_tag, judged_debate_id, judge_id, position

),

verdicts as (

    select run_tag, debate_id, bool_or(is_wrong) as finds_one
    from speakers
    group by run_tag, debate_id, judged_run_tag, judged_debate_id, judge_id

),

counts as (

    select
        run_tag, debate_id,
        count(*) as count_side_judges,
        count(case when finds_one then 1 end) as count_wrong_side_judges

    from verdicts
    group by run_tag, debate_id

),

positions as (

    select run_tag, debate_id, position
    from speakers
    group by run_tag, debate_id, position
    having 2 * count(case when is_wrong then 1 end) >= count(*)

),

wrong as (

    select run_tag, debate_id, list_sort(list(position)) as positions
    from positions
    group by run_tag, debate_id

),

final as (

    select
        counts.run_tag, counts.debate_id, counts.count_side_judges, counts.count_wrong_side_judges,
        coalesce(wrong.positions, cast([] as varchar[])) as wrong_positions

    from counts
    left join wrong using (run_tag, debate_id)

)

select * from final
