-- One row per run.
with

debater_counts as (

    select run_tag, count(*) as count_debaters from staging.stg_debaters group by run_tag

),

judge_counts as (

    select run_tag, count(*) as count_judges from staging.stg_judges where not is_baseline group by run_tag

),

topic_counts as (

    select run_tag, count(*) as count_topics from staging.stg_topics group by run_tag

),

schedule_counts as (

    select run_tag, count(*) as count_planned from staging.stg_schedule group by run_tag

),

debate_counts as (

    select
        run_tag,
        count(*) as count_debates,
        count(case when status = 'complete' then 1 end) as count_complete,
        count(case when status = 'incomplete' then 1 end) as count_incomplete,
        count(case when status = 'void' then 1 end) as count_void,
        count(case when status = 'forfeit' then 1 end) as count_forfeits

    from staging.stg_debates
    group by run_tag

),

decided_counts as (

    select
        run_tag,
        count(*) as count_decided,
        count(case when is_weakened then 1 end) as count_weakened

    from marts.decided_debates
    group by run_tag

),

verdict_counts as (

    select
        run_tag,
        count(*) as count_verdicts,
        count(case when not is_valid then 1 end) as count_invalid_verdicts

    from marts.judge_verdicts
    group by run_tag

),

annotation_counts as (

    select
        run_tag,
        count(*) as count_annotations

    from staging.stg_annotations
    where skip_reason is null
    group by run_tag

),

final as (

    select
        runs.run_tag, runs.source, runs.format, runs.source_run_tag,
        case
            when runs.source = 'import' then 'import'
            when runs.source_run_tag is null then 'tournament'
            when runs.format = 'probing' then 'probe'
            when coalesce(judge_counts.count_judges, 0) = 0 then 'baseline'
            else 'judged_again'
        end as kind,
        marks.title, marks.note,
        coalesce(marks.is_excluded, false) as is_excluded,
        marks.pin_number is not null as is_pinned,
        runs.benchmark_name,
        runs.benchmark_version, runs.rubric_version, runs.harness_version, runs.git_commit, runs.language,
        runs.seed, runs.created_at, runs.is_simulated, runs.allows_judge_overlap,
        coalesce(debater_counts.count_debaters, 0) as count_debaters,
        coalesce(judge_counts.count_judges, 0) as count_judges,
        coalesce(topic_counts.count_topics, 0) as count_topics,
        -- An import does not have a plan, which differs from a plan without debates.
        case when runs.source = 'run' then coalesce(schedule_counts.count_planned, 0) end as count_planned,
        coalesce(debate_counts.count_debates, 0) as count_debates,
        coalesce(debate_counts.count_complete, 0) as count_complete,
        coalesce(debate_counts.count_incomplete, 0) as count_incomplete,
        coalesce(debate_counts.count_void, 0) as count_void,
        coalesce(debate_counts.count_forfeits, 0) as count_forfeits,
        coalesce(decided_counts.count_decided, 0) as count_decided,
        coalesce(decided_counts.count_weakened, 0) as count_weakened,
        coalesce(verdict_counts.count_verdicts, 0) as count_verdicts,
        coalesce(verdict_counts.count_invalid_verdicts, 0) as count_invalid_verdicts,
        coalesce(annotation_counts.count_annotations, 0) as count_annotations,
        costs.cost_usd, costs.turn_cost_usd, costs.verdict_cost_usd, costs.unused_cost_usd,
        costs.estimated_cost_usd, costs.repriced_cost_usd, costs.possible_cost_usd, costs.count_unpriced,
        costs.count_unpriced_turns, costs.count_unpriced_verdicts, costs.count_unpriced_calls,
        costs.total_tokens, costs.count_unmetered,
        coalesce(spreads.count_priced_debates, 0) as count_priced_debates,
        spreads.median_debate_cost_usd, spreads.p90_debate_cost_usd, runs.elo_initial_rating,
        runs.elo_k_factor, runs.min_games_for_display

    from staging.stg_runs as runs
    left join staging.stg_run_marks as marks using (run_tag)
    left join debater_counts using (run_tag)
    left join judge_counts using (run_tag)
    left join topic_counts using (run_tag)
    left join schedule_counts using (run_tag)
    left join debate_counts using (run_tag)
    left join decided_counts using (run_tag)
    left join verdict_counts using (run_tag)
    left join annotation_counts using (run_tag)
    inner join intermediate.int_costs as costs on runs.run_tag = costs.run_tag and costs.kind = 'run'

    left join intermediate.int_cost_spreads as spreads
        on runs.run_tag = spreads.run_tag
        and spreads.kind = 'run'

)

select * from final
order by run_tag
