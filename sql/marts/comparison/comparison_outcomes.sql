-- One row per pair of subjects: what changed between them, in one sentence.
with

rating_changes as (

    select
        baseline_kind, baseline, candidate_kind, candidate,
        count(baseline_value) as count_baseline_rated,
        count(candidate_value) as count_candidate_rated,
        count(difference) as count_compared,
        count(p_value) as count_tested,
        count(case when is_settled then 1 end) as count_settled,
        min(case when difference is not null then model_id end) as first_compared,
        -- The greatest changes first.
        list_sort(
            list(
                case when is_settled then
                    {
                        'rank': -abs(difference),
                        'model_id': model_id,
                        'text': macros.rating_change_text(model_id, difference, ci_low, ci_high, count_topics)
                    }
                end
            )
        ) as settled

    from marts.debater_comparison
    where measure = 'rating'
    group by baseline_kind, baseline, candidate_kind, candidate

),

winner_changes as (

    select
        baseline_kind, baseline, candidate_kind, candidate,
        count(*) as count_matched,
        count(is_flipped) as count_decided,
        count(case when is_flipped then 1 end) as count_flipped

    from marts.debate_comparison
    group by baseline_kind, baseline, candidate_kind, candidate

),

counts as (

    select
        pairs.*,
        coalesce(rating_changes.count_baseline_rated, 0) as count_baseline_rated,
        coalesce(rating_changes.count_candidate_rated, 0) as count_candidate_rated,
        coalesce(rating_changes.count_compared, 0) as count_compared,
        coalesce(rating_changes.count_tested, 0) as count_tested,
        coalesce(rating_changes.count_settled, 0) as count_settled,
        coalesce(winner_changes.count_matched, 0) as count_matched,
        coalesce(winner_changes.count_decided, 0) as count_decided,
        coalesce(winner_changes.count_flipped, 0) as count_flipped,
        rating_changes.first_compared,
        list_transform(
            list_filter(rating_changes.settled, lambda change: change is not null), lambda change: change.text
        ) as settled_texts

    from intermediate.int_comparison_pairs as pairs
    left join rating_changes using (baseline_kind, baseline, candidate_kind, candidate)
    left join winner_changes using (baseline_kind, baseline, candidate_kind, candidate)

),

final as (

    select
        baseline_kind, baseline, candidate_kind, candidate, count_compared, count_settled, count_matched, count_decided,
        count_flipped,
        concat(
            case
                when count_settled > 3
                    then concat(
                        count_settled, ' of ', count_compared, ' ratings changed by more than chance, most of all: ',
                        array_to_string(list_slice(settled_texts, 1, 3), ', ')
                    )
                when count_settled > 0
                    then concat(
                        array_to_string(settled_texts, ', '),
                        case
                            when count_compared > count_settled then '; no other rating changed by more than chance'
                        end
                    )
                when count_compared > 1 and count_tested > 0
                    then concat('None of ', count_compared, ' ratings changed by more than chance')
                when count_compared = 1 and count_tested > 0
                    then concat(
                        'The rating of ', first_compared, ', the only debater in both, did not change by more than chance'
                    )
                when count_compared > 0 then 'There are too few topics to tell a change of a rating from chance'
                when count_baseline_rated + count_candidate_rated = 0 then 'Neither of the two has ratings'
                when count_baseline_rated = 0 then 'The baseline has no ratings'
                when count_candidate_rated = 0 then 'The candidate has no ratings'
                else 'The two have no rated debater in common'
            end,
            '; ',
            case
                when count_matched = 0 then 'the two have no debate in common'
                when count_decided = 0 then 'no debate that both have is decided in both'
                when count_decided = 1 and count_flipped = 0 then 'the only debate decided in both kept its winner'
                when count_flipped = 0 then concat('none of ', count_decided, ' debates changed its winner')
                else concat(
                    count_flipped, ' of ', count_decided, macros.by_number(count_decided, ' debate', ' debates'),
                    ' changed ', macros.by_number(count_flipped, 'its', 'their'), ' winner'
                )
            end,
            '.'
        ) as outcome

    from counts

)

select * from final
