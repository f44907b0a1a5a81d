-- One row per debate that several people annotated and unit: how far they differ on it.
with

parted as (

    select
        run_tag, debate_id, unit,
        count(distinct concat(annotator_a, chr(10), annotator_b)) as count_pairs,
        cast(count(case when difference = 0 then 1 end) as double) / count(*) as agreement_rate,
        cast(sum(cast(difference as decimal(38, 12))) as double) / count(*) as mean_difference,
        max(difference) as largest_difference

    from intermediate.int_people_pairs
    group by run_tag, debate_id, unit

),

team_opinions as (

    select
        run_tag, debate_id, person_id, is_adjudicated, position, is_winner,
        unnest(case dimension when 'overall' then ['winning_teams', 'team_rank'] else [dimension] end) as unit

    from intermediate.int_team_opinions

),

said as (

    select
        run_tag, debate_id,
        case dimension when 'overall' then 'winner' else dimension end as unit,
        count(case when not is_adjudicated then winner end) as count_annotators,
        count(case when not is_adjudicated and winner = 'pro' then 1 end) as count_pro,
        count(case when not is_adjudicated and winner = 'tie' then 1 end) as count_tie,
        count(case when not is_adjudicated and winner = 'con' then 1 end) as count_con,
        min(case when is_adjudicated then winner end) as adjudicated_winner,
        cast(null as varchar) as adjudicated_teams

    from intermediate.int_opinions
    group by run_tag, debate_id, dimension

    union all

    select
        run_tag, debate_id, unit,
        count(distinct case when not is_adjudicated then person_id end) as count_annotators,
        cast(null as bigint) as count_pro,
        cast(null as bigint) as count_tie,
        cast(null as bigint) as count_con,
        cast(null as varchar) as adjudicated_winner,
        nullif(
            array_to_string(list_sort(list(case when is_adjudicated and is_winner then position end)), ', '), ''
        ) as adjudicated_teams

    from team_opinions
    group by run_tag, debate_id, unit

),

asked as (

    select
        run_tag, debate_id,
        count(case when skip_reason is not null then 1 end) as count_skipped,
        count(case when is_coherent is false or skip_reason = 'not_a_debate' then 1 end) as count_objecting,
        count(case when is_coherent is not false and skip_reason is null then 1 end) as count_judging

    from staging.stg_annotations
    group by run_tag, debate_id

),

-- All are compared on whether it is a debate: who judges it says so.
coherence as (

    select
        run_tag, debate_id,
        'coherence' as unit,
        count_objecting + count_judging as count_annotators,
        cast((count_objecting + count_judging) * (count_objecting + count_judging - 1) / 2 as bigint) as count_pairs,
        count_objecting * count_judging as count_unlike

    from asked

),

differences as (

    select
        said.*, parted.count_pairs, parted.agreement_rate, parted.mean_difference, parted.largest_difference

    from parted
    inner join said using (run_tag, debate_id, unit)

    union all

    select
        run_tag, debate_id, unit, count_annotators,
        null as count_pro,
        null as count_tie,
        null as count_con,
        null as adjudicated_winner,
        null as adjudicated_teams,
        count_pairs,
        1 - cast(count_unlike as double) / count_pairs as agreement_rate,
        cast(count_unlike as double) / count_pairs as mean_difference,
        cast(case when count_unlike > 0 then 1 else 0 end as double) as largest_difference

    from coherence
    inner join staging.stg_debates using (run_tag, debate_id)
    where count_pairs > 0

),

final as (

    select
        differences.run_tag, differences.debate_id, differences.unit, differences.count_annotators,
        differences.count_pairs, differences.count_pro, differences.count_tie, differences.count_con,
        asked.count_skipped, asked.count_objecting, differences.agreement_rate, differences.mean_difference,
        differences.largest_difference,
        -- Four teams without dimensions are given speaker points from 50 to 100.
        macros.is_apart(
            differences.largest_difference,
            coalesce(dimensions.min_score, case differences.unit when 'speaker_points' then 50 end),
            coalesce(dimensions.max_score, case differences.unit when 'speaker_points' then 100 end)
        ) as is_parted,
        differences.adjudicated_winner, differences.adjudicated_teams,
        agreed.outcome as review_outcome,
        array_to_string(agreed.reviewers, ', ') as reviewers

    from differences
    inner join asked using (run_tag, debate_id)
    left join intermediate.int_agreed_verdicts as agreed using (run_tag, debate_id)

    left join staging.stg_dimensions as dimensions
        on differences.run_tag = dimensions.run_tag
        and differences.unit = dimensions.dimension

)

select * from final
