-- One row per judge of a run with a valid verdict on a rated debate.
with

flips as (

    select
        decided_verdicts.run_tag, decided_verdicts.judge_id,
        count(*) as count_debates,
        count(case when decided_verdicts.winner_without = 'no_decision' then 1 end) as count_undecided_without,
        count(
            case
                when decided_verdicts.winner_without not in ('no_decision', decided_verdicts.panel_winner) then 1
            end
        ) as count_changed

    from intermediate.int_decided_verdicts as decided_verdicts
    inner join marts.decided_debates using (run_tag, debate_id)
    where decided_debates.is_rated
    group by decided_verdicts.run_tag, decided_verdicts.judge_id

),

moves as (

    select
        without_judge.run_tag,
        without_judge.left_out as judge_id,
        without_judge.model_id, without_judge.rating_change, without_judge.places_gained,
        without_judge.is_separated,
        (without_judge.rank = 1) <> (bradley_terry.rank = 1) as is_lead_changed,
        without_judge.rating < bradley_terry.ci_low or without_judge.rating > bradley_terry.ci_high as is_beyond,
        row_number() over (
            partition by without_judge.run_tag, without_judge.left_out
            order by without_judge.rating_change, without_judge.model_id
        ) as place_from_below,
        row_number() over (
            partition by without_judge.run_tag, without_judge.left_out
            order by without_judge.rating_change desc, without_judge.model_id
        ) as place_from_above

    from ratings.bradley_terry_left_out as without_judge
    inner join ratings.bradley_terry using (run_tag, model_id)
    where without_judge.kind = 'judge'

),

influence as (

    select
        run_tag, judge_id,
        count(*) as count_debaters,
        count(case when places_gained <> 0 then 1 end) as count_moved,
        max(abs(places_gained)) as most_places,
        max(abs(rating_change)) as largest_rating_change,
        count(case when is_beyond then 1 end) as count_beyond_interval,
        count(case when is_lead_changed then 1 end) > 0 as changes_leader,
        -- The judge raises a debater whose rating falls without the judge.
        min(case when place_from_below = 1 then model_id end) as most_lifted,
        min(rating_change) as least_change,
        min(case when place_from_above = 1 then model_id end) as most_lowered,
        max(rating_change) as greatest_change

    from moves
    group by run_tag, judge_id

),

final as (

    select
        flips.run_tag, flips.judge_id, flips.count_debates, flips.count_changed,
        flips.count_undecided_without,
        cast(flips.count_changed as double)
        / nullif(flips.count_debates - flips.count_undecided_without, 0) as change_rate,
        influence.count_debaters, influence.count_moved, influence.most_places,
        influence.largest_rating_change, influence.count_beyond_interval, influence.changes_leader,
        case when influence.least_change < 0 then influence.most_lifted end as most_lifted_model_id,
        case when influence.least_change < 0 then -influence.least_change end as most_lifted_by,
        case when influence.greatest_change > 0 then influence.most_lowered end as most_lowered_model_id,
        case when influence.greatest_change > 0 then influence.greatest_change end as most_lowered_by

    from flips
    left join influence using (run_tag, judge_id)

)

select * from final
order by run_tag, judge_id
