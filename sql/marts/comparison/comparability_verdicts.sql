-- One row per pair of subjects: whether they are like for like, and what not to rely on where they are not.
with

counts as (

    select
        baseline_kind, baseline, candidate_kind, candidate,
        count(case when state = 'different' and affects = 'everything' then 1 end) as count_spoiling,
        count(case when state = 'unknown' and affects = 'everything' then 1 end) as count_doubtful,
        list_sort(
            list({'position': position, 'item': item, 'setting': setting, 'state': state, 'effect': effect})
        ) as items

    from marts.run_comparability
    group by baseline_kind, baseline, candidate_kind, candidate

),

named as (

    select
        *,
        list_transform(list_filter(items, lambda each: each.state = 'different'), lambda each: each.item)
            as differing_items,
        list_transform(list_filter(items, lambda each: each.state = 'unknown'), lambda each: each.item)
            as unknown_items,
        list_transform(list_filter(items, lambda each: each.state = 'different'), lambda each: each.setting)
            as differing_settings,
        list_transform(list_filter(items, lambda each: each.state = 'unknown'), lambda each: each.setting)
            as unknown_settings,
        list_transform(list_filter(items, lambda each: each.state = 'different'), lambda each: each.effect)
            as effects

    from counts

),

final as (

    select
        named.baseline_kind, named.baseline, named.candidate_kind, named.candidate,
        case
            when count_spoiling > 0 then 'not_like_for_like'
            when count_doubtful > 0 then 'unknown'
            else 'like_for_like'
        end as verdict,
        coalesce(sources.is_same_debates, false) as is_same_debates,
        named.differing_items, named.unknown_items, named.differing_settings, named.unknown_settings,
        concat_ws(
            ' ',
            case
                when count_spoiling > 0 then 'Not like for like.'
                when count_doubtful > 0 then 'It is unknown whether they are like for like.'
                else 'Like for like.'
            end,
            case when sources.is_same_debates then 'The debates are the same: only their judging can differ.' end,
            'Different: ' || nullif(array_to_string(named.differing_settings, ', '), '') || '.',
            nullif(array_to_string(named.effects, ' '), ''),
            'Unknown: ' || nullif(array_to_string(named.unknown_settings, ', '), '') || '.'
        ) as explanation

    from named

    left join intermediate.int_comparison_sources as sources
        on named.baseline_kind = sources.baseline_kind
        and named.baseline = sources.baseline
        and named.candidate_kind = sources.candidate_kind
        and named.candidate = sources.candidate

)

select * from final
