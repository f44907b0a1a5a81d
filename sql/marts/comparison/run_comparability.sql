-- One row per pair of subjects and item of the comparability check.
with

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

    from intermediate.int_compared_settings as compared_settings
    group by baseline_kind, baseline, candidate_kind, candidate, item

),

-- If a side has no part of an item, or none that the other side has, the item is unknown, unless it is about how the
-- same debates were held. The parts that explain why the item differs are shown, and so is the only part of an item.
explained as (

    select
        pairs.*,
        items.position, items.item, items.setting, items.affects, items.effect, case
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
        baseline_kind, baseline, candidate_kind, candidate, position, item, setting,
        case
            when item = 'schedule' and state = 'different' and count_reasons_to_plan_anew > 0 then 'follows'
            else state
        end as state,
        case when state <> 'unknown' then state = 'same' end as is_same,
        case
            when count_in_baseline = 0 then 'unknown'
            when is_alone then list_extract(parts, 1).baseline
            when len(parts) = 0 then concat(count_in_baseline, ' settings')
            when len(list_filter(parts, lambda entry: entry.baseline <> 'unknown')) = 0 then 'unknown'
            else array_to_string(list_transform(parts, lambda entry: entry.part || ': ' || entry.baseline), '; ')
        end as baseline_value,
        case
            when count_in_candidate = 0 then 'unknown'
            when is_alone then list_extract(parts, 1).candidate
            when len(parts) = 0 then concat(count_in_candidate, ' settings')
            when len(list_filter(parts, lambda entry: entry.candidate <> 'unknown')) = 0 then 'unknown'
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
