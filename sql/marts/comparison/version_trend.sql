-- One row per benchmark version, debater and measure, in order of time: its value, and the change since the version before.
with

versions as (

    select
        pool as benchmark_version,
        count(*) as count_runs,
        row_number() over (order by min(created_at) nulls first, pool) as version_number

    from intermediate.int_pool_members
    where pool_kind = 'version'
    group by pool

),

ordered as (

    select
        *,
        lag(benchmark_version) over (order by version_number) as previous_version

    from versions

),

changes as (

    select *
    from marts.debater_comparison
    where baseline_kind = 'version' and candidate_kind = 'version'

),

final as (

    select
        ordered.version_number, ordered.benchmark_version, ordered.count_runs, debater_values.model_id,
        debater_values.measure, debater_values.dimension, debater_values.value, debater_values.ci_low,
        debater_values.ci_high, debater_values.reason, debater_values.count_debates, debater_values.count_topics,
        ordered.previous_version, changes.difference,
        changes.ci_low as difference_ci_low,
        changes.ci_high as difference_ci_high,
        case when ordered.previous_version is null then 'first_version' else changes.reason end as difference_reason,
        changes.method

    from ordered

    inner join intermediate.int_subject_values as debater_values
        on debater_values.kind = 'version'
        and ordered.benchmark_version = debater_values.subject

    left join changes
        on ordered.previous_version = changes.baseline
        and ordered.benchmark_version = changes.candidate
        and debater_values.model_id = changes.model_id
        and debater_values.measure = changes.measure
        and coalesce(debater_values.dimension, '') = coalesce(changes.dimension, '')

)

select * from final
order by version_number, model_id, measure, dimension
