-- One row per debate that several people annotated and unit (`winner` or a dimension): how far they differ on it.
with

parted as (

    select
        run_tag, debate_id, unit,
        count(case when side <> 'con' then 1 end) as count_pairs,
        cast(count(case when difference = 0 then 1 end) as double) / count(*) as agreement_rate,
        cast(sum(cast(difference as decimal(38, 12))) as double) / count(*) as mean_difference,
        max(difference) as largest_difference

    from intermediate.int_people_pairs
    group by run_tag, debate_id, unit

),

said as (

    select
        run_tag, debate_id,
        case dimension when 'overall' then 'winner' else dimension end as unit,
        count(winner) as count_annotators,
        count(case when winner = 'pro' then 1 end) as count_pro,
        count(case when winner = 'tie' then 1 end) as count_tie,
        count(case when winner = 'con' then 1 end) as count_con

    from intermediate.int_opinions
    where not is_adjudicated
    group by run_tag, debate_id, dimension

),

final as (

    select
        run_tag, debate_id, unit, said.count_annotators, parted.count_pairs, said.count_pro, said.count_tie,
        said.count_con, parted.agreement_rate, parted.mean_difference, parted.largest_difference,
        macros.is_apart(parted.largest_difference, dimensions.min_score, dimensions.max_score) as is_parted,
        adjudications.winner as adjudicated_winner,
        agreed.outcome as review_outcome,
        array_to_string(agreed.reviewers, ', ') as reviewers

    from parted
    inner join said using (run_tag, debate_id, unit)

    left join staging.stg_dimensions as dimensions
        on parted.run_tag = dimensions.run_tag
        and parted.unit = dimensions.dimension

    left join intermediate.int_agreed_verdicts as agreed
        on parted.run_tag = agreed.run_tag
        and parted.debate_id = agreed.debate_id

    left join intermediate.int_opinions as adjudications
        on parted.run_tag = adjudications.run_tag
        and parted.debate_id = adjudications.debate_id
        and parted.unit = case adjudications.dimension when 'overall' then 'winner' else adjudications.dimension end
        and adjudications.is_adjudicated

)

select * from final
