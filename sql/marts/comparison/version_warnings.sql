-- One row per benchmark version and reason why the numbers that pool its runs may mislead.
with

members as (

    select pool as benchmark_version, run_tag
    from intermediate.int_pool_members
    where pool_kind = 'version'

),

settings as (

    select members.benchmark_version, settings.run_tag, settings.item, settings.part, settings.value
    from members
    inner join marts.run_settings as settings using (run_tag)

),

parts as (

    select
        benchmark_version, item, part,
        count(*) as count_runs,
        count(distinct value) as count_values

    from settings
    group by benchmark_version, item, part

),

items as (

    select benchmark_version, item, count(distinct run_tag) as count_runs
    from settings
    group by benchmark_version, item

),

-- Runs of a version may add debaters, and a schedule follows from other settings. What is unknown is not different.
differing as (

    select distinct
        parts.benchmark_version, setting_items.position, setting_items.item, setting_items.setting

    from parts
    inner join items using (benchmark_version, item)
    inner join intermediate.int_setting_items as setting_items using (item)

    where
        setting_items.affects in ('everything', 'costs', 'elo')
        and setting_items.item not in ('debaters', 'schedule')
        and (parts.count_values > 1 or (setting_items.is_list and parts.count_runs < items.count_runs))

),

repeated as (

    select pool as benchmark_version, pooled_run_tag as run_tag, count(*) as count_debates
    from ratings.pooled_games
    where pool_kind = 'version' and is_repeated
    group by pool, pooled_run_tag

),

warnings as (

    select
        benchmark_version,
        'different_settings' as kind,
        list_transform(list_sort(list({'position': position, 'item': item})), lambda each: each.item) as differing_items,
        list_transform(list_sort(list({'position': position, 'setting': setting})), lambda each: each.setting)
            as differing_settings,
        cast([] as varchar[]) as repeating_runs,
        cast(null as bigint) as count_repeated_debates

    from differing
    group by benchmark_version

    union all

    select
        benchmark_version,
        'same_debates' as kind,
        cast([] as varchar[]) as differing_items,
        cast([] as varchar[]) as differing_settings,
        list_sort(list(run_tag)) as repeating_runs,
        cast(sum(count_debates) as bigint) as count_repeated_debates

    from repeated
    group by benchmark_version

),

sizes as (

    select benchmark_version, count(*) as count_runs from members group by benchmark_version

),

final as (

    select
        warnings.benchmark_version, warnings.kind, sizes.count_runs, warnings.differing_items, warnings.repeating_runs,
        warnings.count_repeated_debates,
        case warnings.kind
            when 'different_settings' then concat(
                'The ', sizes.count_runs, ' runs of benchmark version ''', warnings.benchmark_version,
                ''' have different settings (', array_to_string(warnings.differing_settings, ', '),
                '), and its numbers mix them.'
            )
            else concat(
                warnings.count_repeated_debates,
                macros.by_number(warnings.count_repeated_debates, ' debate of ', ' debates of '), '''',
                array_to_string(warnings.repeating_runs, ''', '''),
                macros.by_number(warnings.count_repeated_debates, ''' is', ''' are'),
                ' also in an earlier run of benchmark version ''', warnings.benchmark_version,
                ''': its ratings count each once, its win rates, scores and costs each copy.'
            )
        end as explanation

    from warnings
    inner join sizes using (benchmark_version)

)

select * from final
order by benchmark_version, kind
