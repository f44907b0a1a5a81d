-- One row per pair of subjects, item of the comparability check and part of it.
with

-- Most runs hold their own debates, and runs with the same plan can still be compared.
debates as (

    select
        baseline_kind, baseline, candidate_kind, candidate,
        unnest(
            [
                {
                    'side': 'baseline',
                    'value': case when is_judged_again then 'of run ' || baseline_sources else 'its own' end
                },
                {
                    'side': 'candidate',
                    'value': case when is_judged_again then 'of run ' || candidate_sources else 'its own' end
                }
            ]
        ) as held

    from intermediate.int_comparison_sources

),

-- A version that pools runs has every value of its runs.
side_values as (

    select
        sides.baseline_kind, sides.baseline, sides.candidate_kind, sides.candidate, sides.side, settings.item,
        settings.part, settings.value, settings.is_of_source

    from intermediate.int_comparison_sides as sides
    inner join marts.run_settings as settings using (run_tag)
    group by all

    union all

    select
        baseline_kind, baseline, candidate_kind, candidate,
        held.side as side,
        'debates' as item,
        'debates' as part,
        held.value as value,
        false as is_of_source

    from debates

),

-- A value that is unknown in one run is unknown for all of them.
parts as (

    select
        baseline_kind, baseline, candidate_kind, candidate, item, part,
        case when count(case when side = 'baseline' and value is null then 1 end) = 0 then
            array_to_string(list_sort(list(case when side = 'baseline' then value end)), ' | ')
        end as baseline_value,
        case when count(case when side = 'candidate' and value is null then 1 end) = 0 then
            array_to_string(list_sort(list(case when side = 'candidate' then value end)), ' | ')
        end as candidate_value,
        count(case when side = 'baseline' then 1 end) > 0 as is_in_baseline,
        count(case when side = 'candidate' then 1 end) > 0 as is_in_candidate,
        bool_and(is_of_source) as is_of_source

    from side_values
    group by baseline_kind, baseline, candidate_kind, candidate, item, part

),

-- How the same debates were held is the same, even where it is unknown.
final as (

    select
        parts.baseline_kind, parts.baseline, parts.candidate_kind, parts.candidate, parts.item, parts.part,
        parts.is_in_baseline, parts.is_in_candidate,
        case
            when parts.is_in_baseline <> parts.is_in_candidate then
                case when items.is_list then 'different' else 'absent' end
            when parts.baseline_value = parts.candidate_value then 'same'
            when parts.baseline_value <> parts.candidate_value then 'different'
            when sources.is_same_debates and parts.is_of_source then 'same'
            else 'unknown'
        end as state,
        case when parts.is_in_baseline then coalesce(parts.baseline_value, 'unknown') else 'absent' end
            as baseline_text,
        case when parts.is_in_candidate then coalesce(parts.candidate_value, 'unknown') else 'absent' end
            as candidate_text

    from parts
    inner join intermediate.int_setting_items as items using (item)
    left join intermediate.int_comparison_sources as sources using (
        baseline_kind, baseline, candidate_kind, candidate
    )

)

select * from final
