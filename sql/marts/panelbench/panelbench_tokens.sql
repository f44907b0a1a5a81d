-- One row per judge and format of the debates, over valid verdicts of known size on debates with verdicts of people.
with

speeches as (

    select
        turns.run_tag, turns.debate_id,
        count(*) as count_speeches,
        sum(length(turns.content)) as characters

    from intermediate.int_debate_turns as turns
    inner join intermediate.int_truth_debates using (run_tag, debate_id)
    group by turns.run_tag, turns.debate_id

),

analyses as (

    select
        notes.run_tag, notes.debate_id, notes.judge_id,
        count(case when notes.step = 'speech' then 1 end) as count_analyses,
        coalesce(sum(case when notes.step = 'speech' then length(notes.text) end), 0) as analysis_characters,
        coalesce(sum(case when notes.step = 'debate' then length(notes.text) end), 0) as debate_characters

    from staging.stg_judge_notes as notes
    inner join intermediate.int_truth_debates using (run_tag, debate_id)
    where notes.step in ('speech', 'debate')
    group by notes.run_tag, notes.debate_id, notes.judge_id

),

dimensions as (

    select
        run_tag,
        count(*) as count_dimensions

    from staging.stg_dimensions
    group by run_tag

),

verdicts as (

    select
        verdicts.run_tag, verdicts.judge_id, judges.method, judges.model_name, sources.source_run_tag, debates.format,
        costs.prompt_tokens, dimensions.count_dimensions, speeches.count_speeches, speeches.characters,
        coalesce(analyses.count_analyses, 0) as count_analyses,
        coalesce(analyses.analysis_characters, 0) as analysis_characters,
        coalesce(analyses.debate_characters, 0) as debate_characters

    from staging.stg_verdicts as verdicts
    inner join speeches using (run_tag, debate_id)
    inner join staging.stg_debates as debates using (run_tag, debate_id)
    inner join intermediate.int_debate_sources as sources using (run_tag, debate_id)
    inner join staging.stg_judges as judges using (run_tag, judge_id)
    inner join intermediate.int_truth_costs as costs using (run_tag, debate_id, judge_id)
    left join analyses using (run_tag, debate_id, judge_id)
    left join dimensions using (run_tag)
    where verdicts.is_valid and costs.prompt_tokens is not null and not judges.is_baseline

),

-- With N speeches, an analysis is read for each later speech and once more for the whole: (N + 1) / 2 times on average.
estimated as (

    select
        *,
        case regexp_replace(method, '_v[0-9]+$', '')
            when 'direct' then cast(characters as double)
            when 'whole_debate' then cast(characters as double)
            when 'chronological' then characters + cast(analysis_characters * (count_speeches + 1) as double) / 2
            when 'dimensional'
                then
                cast(characters * count_dimensions as double)
                -- The first version writes nothing about a debate that it would read again.
                + case when method = 'dimensional_v1' then 0 else debate_characters end
            when 'non_iterative'
                then
                cast(characters * count_dimensions * (count_speeches + 1) as double) / 2
                + analysis_characters + debate_characters
            when 'debatrix'
                then
                cast(analysis_characters * (count_speeches + 1) as double) / 2
                + characters * count_dimensions + debate_characters
        end as read_characters

    from verdicts

),

sums as (

    select
        run_tag, judge_id, method, model_name, source_run_tag, format,
        max(count_dimensions) as count_dimensions,
        count(*) as count_metered_verdicts,
        cast(sum(count_speeches) as double) / count(*) as mean_speeches,
        cast(sum(characters) as double) / sum(count_speeches) / 4 as mean_speech_tokens,
        cast(sum(analysis_characters) as double) / nullif(sum(count_analyses), 0) / 4 as mean_analysis_tokens,
        cast(sum(prompt_tokens) as double) / count(*) as prompt_tokens_per_judgment,
        sum(read_characters) / nullif(cast(sum(characters) as double), 0) as estimated_ratio_to_direct,
        case
            when sum(characters) = 0 then 'no_text'
            when sum(read_characters) is null and max(count_dimensions) is null then 'no_dimensions'
            when sum(read_characters) is null then 'other_method'
        end as estimated_ratio_reason

    from estimated
    group by run_tag, judge_id, method, model_name, source_run_tag, format

),

direct as (

    select
        source_run_tag, format, model_name,
        avg(prompt_tokens_per_judgment) as prompt_tokens_per_judgment

    from sums
    where method = 'direct'
    group by source_run_tag, format, model_name

),

final as (

    select
        sums.*,
        sums.prompt_tokens_per_judgment / nullif(direct.prompt_tokens_per_judgment, 0) as prompt_tokens_ratio_to_direct

    from sums

    left join direct
        on sums.source_run_tag = direct.source_run_tag
        and sums.format = direct.format
        and sums.model_name is not distinct from direct.model_name

)

select * from final
order by source_run_tag, format, run_tag, judge_id
