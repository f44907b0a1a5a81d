-- One row per debate, truth (`gold`, `annotations` or `adjudicated`) and dimension, or `overall` for the whole debate.
with

-- What people agreed not to be a debate has no truth: nobody can be right about its winner.
no_debates as (

    select run_tag, debate_id from intermediate.int_agreed_verdicts where is_no_debate

),

gold_positions as (

    select
        run_tag, debate_id, unit,
        unnest(winning_positions) as position

    from staging.stg_gold

),

-- The winning side of four-team debates, where all winning teams are on one side.
gold_sides as (

    select
        gold_positions.run_tag, gold_positions.debate_id, gold_positions.unit,
        case when count(distinct participants.side) = 1 then min(participants.side) end as side

    from gold_positions
    inner join staging.stg_participants as participants using (run_tag, debate_id, position)
    group by gold_positions.run_tag, gold_positions.debate_id, gold_positions.unit

),

gold as (

    select
        gold.run_tag, gold.debate_id,
        'gold' as truth,
        case gold.unit when 'winner' then 'overall' else gold.unit end as dimension,
        debates.format,
        coalesce(gold.winner, case debates.format when 'british_parliamentary' then gold_sides.side end) as winner,
        cast(gold.label as double) as label,
        case
            when debates.format = 'british_parliamentary' and len(gold.winning_positions) > 0
                then list_sort(gold.winning_positions)
        end as winning_positions,
        cast(null as double) as score_difference,
        cast(null as bigint) as count_annotators

    from staging.stg_gold as gold
    inner join staging.stg_debates as debates using (run_tag, debate_id)
    left join gold_sides using (run_tag, debate_id, unit)
    where gold.unit <> 'overall' and (gold.run_tag, gold.debate_id) not in (from no_debates)

),

-- Of four teams, those win that most people put first; of equally many, those with the best mean rank.
team_places as (

    select
        run_tag, debate_id, is_adjudicated, dimension, position,
        count(*) as count_annotators,
        count(case when is_winner then 1 end) as count_first,
        sum(rank) as total_rank

    from intermediate.int_team_opinions
    group by run_tag, debate_id, is_adjudicated, dimension, position

),

leading_teams as (

    select *
    from team_places
    qualify
        rank() over (
            partition by run_tag, debate_id, is_adjudicated, dimension
            order by count_first desc, total_rank
        ) = 1

),

teams as (

    select
        leading_teams.run_tag, leading_teams.debate_id,
        case when leading_teams.is_adjudicated then 'adjudicated' else 'annotations' end as truth,
        leading_teams.dimension, debates.format,
        case when count(distinct participants.side) = 1 then min(participants.side) end as winner,
        list_sort(list(leading_teams.position)) as winning_positions,
        max(case when not leading_teams.is_adjudicated then leading_teams.count_annotators end) as count_annotators

    from leading_teams
    inner join staging.stg_debates as debates using (run_tag, debate_id)
    left join staging.stg_participants as participants using (run_tag, debate_id, position)
    group by
        leading_teams.run_tag, leading_teams.debate_id, leading_teams.is_adjudicated, leading_teams.dimension,
        debates.format

),

counted as (

    select
        run_tag, debate_id, is_adjudicated, dimension,
        count(winner) as count_annotators,
        count(case when winner = 'pro' then 1 end) as count_pro,
        count(case when winner = 'con' then 1 end) as count_con,
        cast(sum(pro_score - con_score) as double) / count(pro_score - con_score) as score_difference,
        cast(sum(macros.label_of(winner)) as double) / count(winner) as label

    from intermediate.int_opinions
    group by run_tag, debate_id, is_adjudicated, dimension

),

people as (

    select
        counted.run_tag, counted.debate_id,
        case when counted.is_adjudicated then 'adjudicated' else 'annotations' end as truth,
        counted.dimension, debates.format,
        case
            when 2 * counted.count_pro > counted.count_annotators then 'pro'
            when 2 * counted.count_con > counted.count_annotators then 'con'
            else 'tie'
        end as winner,
        counted.label,
        cast(null as varchar[]) as winning_positions,
        counted.score_difference,
        case when not counted.is_adjudicated then counted.count_annotators end as count_annotators

    from counted
    inner join staging.stg_debates as debates using (run_tag, debate_id)
    where counted.count_annotators > 0

),

final as (

    select
        run_tag, debate_id, truth, dimension, format, winner,
        coalesce(label, macros.label_of(winner)) as label,
        winning_positions, score_difference, count_annotators

    from gold

    union all

    select
        run_tag, debate_id, truth, dimension, format, winner, label, winning_positions, score_difference,
        count_annotators

    from people

    union all

    select
        run_tag, debate_id, truth, dimension, format, winner,
        macros.label_of(winner) as label,
        winning_positions,
        cast(null as double) as score_difference,
        count_annotators

    from teams

)

select * from final
