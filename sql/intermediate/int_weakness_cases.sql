-- One row per judge or annotator, weakness type (or `all`), measure and debate of the source that it is measured on.
with

said as (

    select *, 'winner' as measure, winner as preferred from intermediate.int_weakness_verdicts
    where dimension = 'overall'

    union all

    select *, 'score' as measure, scored_winner as preferred from intermediate.int_weakness_verdicts
    where dimension = 'overall'

    union all

    select *, 'dimension' as measure, winner as preferred from intermediate.int_weakness_verdicts
    where dimension <> 'overall'

),

-- The mean over the trials of a debate.
outcomes as materialized (

    select
        run_tag, judge_id, is_person, method, is_baseline, source_run_tag, source_debate_id, cluster_id,
        cluster_unit, is_control, side, weakness_type, weak_dimension, measure, dimension,
        count(*) as count_preferences,
        cast(count(case when preferred = 'con' then 1 end) as double) / count(*) as pro_lower_rate,
        cast(count(case when preferred = 'pro' then 1 end) as double) / count(*) as con_lower_rate,
        cast(count(case when preferred = 'tie' then 1 end) as double) / count(*) as tie_rate

    from said
    where preferred is not null
    group by
        run_tag, judge_id, is_person, method, is_baseline, source_run_tag, source_debate_id, cluster_id,
        cluster_unit, is_control, side, weakness_type, weak_dimension, measure, dimension

),

weakened as materialized (

    select
        *,
        unnest([weakness_type, 'all']) as measured_type,
        case side when 'pro' then pro_lower_rate else con_lower_rate end as lower_rate

    from outcomes
    where not is_control and (measure <> 'dimension' or dimension = weak_dimension)

),

-- On which side and dimension the weakened debates are measured, and how many of them.
mixes as (

    select
        run_tag, judge_id, is_person, measured_type, measure, dimension, side,
        count(*) as weight

    from weakened
    group by run_tag, judge_id, is_person, measured_type, measure, dimension, side

),

-- A control has no weakened side. It stands for each side and dimension as often as weakened debates do.
controls as (

    select
        outcomes.run_tag, outcomes.judge_id, outcomes.is_person, outcomes.method, outcomes.is_baseline,
        outcomes.source_run_tag, outcomes.source_debate_id, outcomes.cluster_id, outcomes.cluster_unit,
        mixes.measured_type, outcomes.measure,
        max(outcomes.count_preferences) as count_preferences,
        cast(
            sum(
                cast(mixes.weight as decimal(9, 0))
                * cast(
                    case mixes.side when 'pro' then outcomes.pro_lower_rate else outcomes.con_lower_rate end
                    as decimal(28, 18)
                )
            ) as double
        ) / sum(mixes.weight) as lower_rate,
        cast(sum(cast(mixes.weight as decimal(9, 0)) * cast(outcomes.tie_rate as decimal(28, 18))) as double)
        / sum(mixes.weight) as tie_rate

    from outcomes
    inner join mixes using (run_tag, judge_id, is_person, measure, dimension)
    where outcomes.is_control
    group by
        outcomes.run_tag, outcomes.judge_id, outcomes.is_person, outcomes.method, outcomes.is_baseline,
        outcomes.source_run_tag, outcomes.source_debate_id, outcomes.cluster_id, outcomes.cluster_unit,
        mixes.measured_type, outcomes.measure

),

final as (

    select
        run_tag, judge_id, is_person, method, is_baseline, source_run_tag, source_debate_id, cluster_id, cluster_unit,
        measured_type as weakness_type,
        measure,
        false as is_control,
        weak_dimension, count_preferences, lower_rate, tie_rate

    from weakened

    union all

    select
        run_tag, judge_id, is_person, method, is_baseline, source_run_tag, source_debate_id, cluster_id, cluster_unit,
        measured_type as weakness_type,
        measure,
        true as is_control,
        cast(null as varchar) as weak_dimension,
        count_preferences, lower_rate, tie_rate

    from controls

)

select * from final
