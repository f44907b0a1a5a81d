-- One row per pair of subjects and item of the comparability check.
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
part_states as (

    select
        parts.*,
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

),

item_states as (

    select
        baseline_kind, baseline, candidate_kind, candidate, item,
        case
            when count(case when is_in_baseline then 1 end) = 0 or count(case when is_in_candidate then 1 end) = 0
                then 'silent'
            when count(case when state = 'different' then 1 end) > 0 then 'different'
            when count(case when state = 'unknown' then 1 end) > 0 then 'unknown'
            when count(case when state = 'same' then 1 end) > 0 then 'same'
            else 'silent'
        end as state,
        count(*) as count_parts,
        count(case when is_in_baseline then 1 end) as count_in_baseline,
        count(case when is_in_candidate then 1 end) as count_in_candidate,
        list_sort(
            list({'part': part, 'state': state, 'baseline': baseline_text, 'candidate': candidate_text})
        ) as parts

    from part_states
    group by baseline_kind, baseline, candidate_kind, candidate, item

),

-- If a side has no part of an item, or none that the other side has, the item is unknown, unless it is about how the
-- same debates were held. The parts that explain why the item differs are shown, and so is the only part of an item.
explained as (

    select
        pairs.*,
        items.position,
        items.item,
        items.affects,
        items.effect,
        case
            when item_states.state in ('same', 'different') then item_states.state
            when sources.is_same_debates and items.is_of_source and coalesce(item_states.state, 'silent') = 'silent'
                then 'same'
            else 'unknown'
        end as state,
        coalesce(item_states.count_in_baseline, 0) as count_in_baseline,
        coalesce(item_states.count_in_candidate, 0) as count_in_candidate,
        item_states.count_parts = 1 as is_alone,
        list_filter(
            item_states.parts,
            lambda entry: item_states.count_parts = 1 or (entry.state = item_states.state and entry.state <> 'same')
        ) as parts,
        count(case when items.decides_schedule and item_states.state = 'different' then 1 end) over (
            partition by pairs.baseline_kind, pairs.baseline, pairs.candidate_kind, pairs.candidate
        ) as count_reasons_to_plan_anew

    from intermediate.int_comparison_pairs as pairs
    cross join intermediate.int_setting_items as items
    left join item_states using (baseline_kind, baseline, candidate_kind, candidate, item)
    left join intermediate.int_comparison_sources as sources using (
        baseline_kind, baseline, candidate_kind, candidate
    )

),

final as (

    select
        baseline_kind, baseline, candidate_kind, candidate, position, item,
        case
            when item = 'schedule' and state = 'different' and count_reasons_to_plan_anew > 0 then 'follows'
            else state
        end as state,
        case when state <> 'unknown' then state = 'same' end as is_same,
        case
            when count_in_baseline = 0 then 'unknown'
            when is_alone then list_extract(parts, 1).baseline
            when len(parts) = 0 then concat(count_in_baseline, ' settings')
            else array_to_string(list_transform(parts, lambda entry: entry.part || ': ' || entry.baseline), '; ')
        end as baseline_value,
        case
            when count_in_candidate = 0 then 'unknown'
            when is_alone then list_extract(parts, 1).candidate
            when len(parts) = 0 then concat(count_in_candidate, ' settings')
            else array_to_string(list_transform(parts, lambda entry: entry.part || ': ' || entry.candidate), '; ')
        end as candidate_value,
        case when state = 'different' then list_transform(parts, lambda entry: entry.part) else [] end
            as differing_parts,
        affects,
        case when state <> 'same' then effect end as effect

    from explained

)

select * from final
order by baseline_kind, baseline, candidate_kind, candidate, position
