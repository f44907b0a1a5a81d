-- One row per judge or annotator, method and weakness type (or `all`).
with

typed as (

    select
        *,
        unnest([weakness_type, 'all']) as typed_weakness

    from marts.weakness_diagnoses

),

-- The trials of a debate are averaged first.
by_debate as (

    select
        run_tag, judge_id, is_person, method, is_baseline, source_run_tag, typed_weakness, source_debate_id,
        weak_dimension,
        count(*) as count_diagnoses,
        count(case when diagnosis = 'sees it' then 1 end) as count_sees,
        count(case when diagnosis = 'blames another dimension' then 1 end) as count_blames,
        count(case when diagnosis = 'misses it' then 1 end) as count_misses,
        count(case when diagnosis = 'rewards it' then 1 end) as count_rewards

    from typed
    group by
        run_tag, judge_id, is_person, method, is_baseline, source_run_tag, typed_weakness, source_debate_id,
        weak_dimension

),

totals as (

    select
        run_tag, judge_id, is_person, method, is_baseline, source_run_tag,
        typed_weakness as weakness_type,
        case when min(weak_dimension) = max(weak_dimension) then min(weak_dimension) end as weak_dimension,
        count(*) as count_debates,
        cast(sum(count_diagnoses) as bigint) as count_diagnoses,
        cast(sum(count_sees) as bigint) as count_sees,
        cast(sum(count_blames) as bigint) as count_blames,
        cast(sum(count_misses) as bigint) as count_misses,
        cast(sum(count_rewards) as bigint) as count_rewards,
        cast(sum(cast(cast(count_sees as double) / count_diagnoses as decimal(38, 18))) as double) as sees,
        cast(sum(cast(cast(count_blames as double) / count_diagnoses as decimal(38, 18))) as double) as blames,
        cast(sum(cast(cast(count_misses as double) / count_diagnoses as decimal(38, 18))) as double) as misses,
        cast(sum(cast(cast(count_rewards as double) / count_diagnoses as decimal(38, 18))) as double) as rewards

    from by_debate
    group by run_tag, judge_id, is_person, method, is_baseline, source_run_tag, typed_weakness

),

final as (

    select
        run_tag, judge_id, is_person, method, is_baseline, source_run_tag, weakness_type, weak_dimension,
        count_debates, count_diagnoses, count_sees, count_blames, count_misses, count_rewards,
        sees / count_debates as sees_rate,
        macros.wilson_low(sees, count_debates) as sees_rate_ci_low,
        macros.wilson_high(sees, count_debates) as sees_rate_ci_high,
        blames / count_debates as blames_rate,
        macros.wilson_low(blames, count_debates) as blames_rate_ci_low,
        macros.wilson_high(blames, count_debates) as blames_rate_ci_high,
        misses / count_debates as misses_rate,
        macros.wilson_low(misses, count_debates) as misses_rate_ci_low,
        macros.wilson_high(misses, count_debates) as misses_rate_ci_high,
        rewards / count_debates as rewards_rate,
        macros.wilson_low(rewards, count_debates) as rewards_rate_ci_low,
        macros.wilson_high(rewards, count_debates) as rewards_rate_ci_high

    from totals

)

select * from final
