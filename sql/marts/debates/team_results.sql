-- One row per decided debate of four teams that judges ranked, and team: its place according to the panel.
with

panels as (

    select
        run_tag, debate_id, position,
        any_value(side) as side,
        any_value(model_id) as model_id,
        count(*) as count_judges,
        count(case when is_named then 1 end) as count_named,
        sum(rank) as sum_of_ranks,
        -- Summed as decimals, because a sum of floats depends on the order of the rows.
        cast(sum(cast(score as decimal(38, 12))) as double) / count(score) as mean_score

    from intermediate.int_team_ranks
    group by run_tag, debate_id, position

),

-- Teams that share places have the mean of the places, and so of the points.
placed as (

    select
        *,
        rank() over (partition by run_tag, debate_id order by sum_of_ranks)
        + cast(count(*) over (partition by run_tag, debate_id, sum_of_ranks) - 1 as double) / 2 as rank,
        rank() over (partition by run_tag, debate_id order by sum_of_ranks) = 1 as is_first,
        count(*) over (partition by run_tag, debate_id, sum_of_ranks) as count_sharing

    from panels

),

-- A debater that holds two positions of a debate cannot be ranked against itself.
compositions as (

    select
        run_tag, debate_id,
        count(*) = count(distinct model_id) as is_of_different_debaters,
        count(case when debaters.is_simulated then 1 end) > 0 as has_simulated_debaters

    from panels
    left join staging.stg_debaters as debaters using (run_tag, model_id)
    group by run_tag, debate_id

),

simulated_panels as (

    select distinct verdicts.run_tag, verdicts.debate_id
    from intermediate.int_team_ranks as verdicts
    inner join staging.stg_judges as judges using (run_tag, judge_id)
    where judges.is_simulated

),

final as (

    select
        placed.run_tag, placed.debate_id, decided.topic_id, placed.position, placed.side, placed.model_id,
        placed.rank,
        4 - placed.rank as points,
        case when not placed.is_first then 'loss' when placed.count_sharing = 1 then 'win' else 'tie' end as result,
        case when placed.is_first then cast(1 as double) / placed.count_sharing else 0 end as first_rate,
        placed.sum_of_ranks / placed.count_judges as mean_rank,
        placed.count_named, placed.count_judges, placed.mean_score,
        debates.trial = 1 and not decided.is_weakened and compositions.is_of_different_debaters as is_rated,
        compositions.has_simulated_debaters or simulated_panels.debate_id is not null as is_simulated

    from placed
    inner join marts.decided_debates as decided using (run_tag, debate_id)
    inner join staging.stg_debates as debates using (run_tag, debate_id)
    inner join compositions using (run_tag, debate_id)
    left join simulated_panels using (run_tag, debate_id)

)

select * from final
