-- One row per judge or annotator, debate of the source, measure and dimension: the mean over the trials of the debate.
with

said as (

    select *, 'winner' as measure, winner as preferred from intermediate.int_weakness_verdicts as weakness_verdicts
    where dimension = 'overall'

    union all

    select *, 'score' as measure, scored_winner as preferred from intermediate.int_weakness_verdicts as weakness_verdicts
    where dimension = 'overall'

    union all

    select *, 'dimension' as measure, winner as preferred from intermediate.int_weakness_verdicts as weakness_verdicts
    where dimension <> 'overall'

),

final as (

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

)

select * from final
