-- One row per debate: whether it is fit to be judged, and if not, why.
with

-- Read twice: for every debate, and for the median of its run.
speeches as materialized (

    select * from intermediate.int_debate_speeches

),

medians as (

    select
        run_tag,
        median(characters) as median_characters,
        count(*) as count_debates

    from speeches
    group by run_tag

),

-- Joined before the scores become rows, because few runs ask for this dimension.
scores as (

    select
        verdicts.run_tag, verdicts.debate_id, dimensions.dimension, dimensions.min_score,
        unnest(verdicts.scores) as score

    from intermediate.int_panel_verdicts as verdicts
    inner join staging.stg_dimensions as dimensions using (run_tag)
    where verdicts.is_valid and dimensions.dimension = 'fit_to_be_judged'

),

-- The judges of a run with the rubric `coherence` object by the lowest score for either side.
votes as (

    select
        sources.source_run_tag as run_tag,
        sources.source_debate_id as debate_id,
        'judge' as voter,
        scores.score.pro = scores.min_score or scores.score.con = scores.min_score as is_against

    from scores
    inner join intermediate.int_debate_sources as sources using (run_tag, debate_id)
    where scores.score.dimension = scores.dimension

    union all

    select run_tag, debate_id, 'annotator' as voter, coalesce(not is_coherent, true) as is_against
    from staging.stg_annotations
    where is_coherent is not null or skip_reason = 'not_a_debate'

),

asked as (

    select
        run_tag, debate_id,
        count(case when voter = 'judge' then 1 end) as count_asked_judges,
        count(case when voter = 'judge' and is_against then 1 end) as count_objecting_judges,
        count(case when voter = 'annotator' then 1 end) as count_asked_annotators,
        count(case when voter = 'annotator' and is_against then 1 end) as count_objecting_annotators

    from votes
    group by run_tag, debate_id

),

-- Whoever skips a debate because a side argues for the other one says so; who judges it has nothing against it.
skips as (

    select
        run_tag, debate_id,
        count(*) as count_annotators,
        count(case when skip_reason = 'wrong_side' then 1 end) as count_wrong_side_skips

    from staging.stg_annotations
    group by run_tag, debate_id

),

debates as (

    select
        debates.run_tag, debates.debate_id, speeches.count_planned_turns,
        -- The turns of a debate are known if they are its own or its source is in the warehouse.
        case
            when debates.source_debate_id is null or held.debate_id is not null then coalesce(speeches.count_turns, 0)
        end as count_turns,
        speeches.count_turns_as_planned, speeches.count_speaking_sides, speeches.count_empty_speeches,
        speeches.count_short_speeches, speeches.count_cut_speeches, speeches.count_repeated_speeches,
        speeches.count_foreign_speeches, speeches.characters,
        case
            when medians.count_debates >= 5 then speeches.characters / nullif(medians.median_characters, 0)
        end as length_ratio,
        coalesce(asked.count_asked_judges, 0) as count_asked_judges,
        coalesce(asked.count_objecting_judges, 0) as count_objecting_judges,
        coalesce(asked.count_asked_annotators, 0) as count_asked_annotators,
        coalesce(asked.count_objecting_annotators, 0) as count_objecting_annotators,
        sides.count_side_judges, sides.count_wrong_side_judges, sides.wrong_positions,
        coalesce(skips.count_annotators, 0) as count_annotators,
        coalesce(skips.count_wrong_side_skips, 0) as count_wrong_side_skips,
        coalesce(agreed.is_no_debate, false) as is_agreed_no_debate

    from staging.stg_debates as debates
    inner join intermediate.int_debate_sources as sources using (run_tag, debate_id)

    left join staging.stg_debates as held
        on sources.source_run_tag = held.run_tag
        and sources.source_debate_id = held.debate_id

    left join speeches
        on sources.source_run_tag = speeches.run_tag
        and sources.source_debate_id = speeches.debate_id

    left join medians on speeches.run_tag = medians.run_tag

    left join asked
        on sources.source_run_tag = asked.run_tag
        and sources.source_debate_id = asked.debate_id

    left join intermediate.int_wrong_sides as sides
        on sources.source_run_tag = sides.run_tag
        and sources.source_debate_id = sides.debate_id

    left join skips
        on sources.source_run_tag = skips.run_tag
        and sources.source_debate_id = skips.debate_id

    left join intermediate.int_agreed_verdicts as agreed
        on sources.source_run_tag = agreed.run_tag
        and sources.source_debate_id = agreed.debate_id

),

reasons as (

    select
        *,
        list_filter(
            [
                case
                    when
                        count_speaking_sides < 2 or count_turns = 0 or count_turns <> count_planned_turns
                        or count_turns_as_planned < count_planned_turns
                        then 'turns'
                end,
                case when count_empty_speeches > 0 then 'empty_speech' end,
                case when count_cut_speeches > 0 then 'cut_speech' end,
                case when count_short_speeches > 0 then 'short_speech' end,
                case when count_repeated_speeches > 0 then 'repeated_speech' end,
                case when count_foreign_speeches > 0 then 'language' end,
                case when length_ratio < 1 / 3 or length_ratio > 3 then 'length' end,
                case when count_objecting_judges > 0 and 2 * count_objecting_judges >= count_asked_judges then 'judges' end,
                case
                    when count_objecting_annotators > 0 and 2 * count_objecting_annotators >= count_asked_annotators
                        then 'annotators'
                end,
                case
                    when
                        len(wrong_positions) > 0
                        or (count_wrong_side_skips > 0 and 2 * count_wrong_side_skips >= count_annotators)
                        then 'wrong_side'
                end,
                case when is_agreed_no_debate then 'agreed' end
            ],
            lambda reason: reason is not null
        ) as reasons

    from debates

),

final as (

    select
        run_tag, debate_id,
        case
            when len(reasons) > 0 then false
            when count_turns is not null then true
        end as is_coherent,
        reasons, count_planned_turns, count_turns, count_empty_speeches, count_cut_speeches, count_short_speeches,
        count_repeated_speeches, count_foreign_speeches, characters, length_ratio, count_asked_judges,
        count_objecting_judges, count_asked_annotators, count_objecting_annotators, count_side_judges,
        count_wrong_side_judges, wrong_positions, count_wrong_side_skips

    from reasons

)

select * from final
