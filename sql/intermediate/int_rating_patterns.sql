-- One row per run, unit, cluster and list of ratings that a panel of two or more gave.
with

decided as (

    select run_tag, debate_id, count_pro, count_tie, count_con, count_valid_verdicts
    from marts.panel_winners
    where winner <> 'no_decision' and count_valid_verdicts > 1

),

-- The first trial of each debate, and the first with a panel of its size, stand for the debate where debates are counted.
trials as (

    select
        run_tag, debate_id,
        row_number() over (
            partition by run_tag, repeated.source_debate_id
            order by debate_id
        ) = 1 as is_first,
        row_number() over (
            partition by run_tag, repeated.source_debate_id, decided.count_valid_verdicts
            order by debate_id
        ) = 1 as is_first_of_size

    from decided
    inner join intermediate.int_repeated_debates as repeated using (run_tag, debate_id)

),

panels as (

    select
        run_tag, debate_id, clusters.cluster_unit, clusters.cluster_id, decided.count_pro, decided.count_tie,
        decided.count_con,
        teams.debate_id is not null as is_of_teams,
        coalesce(trials.is_first, true) as is_first,
        coalesce(trials.is_first_of_size, true) as is_first_of_size

    from decided
    inner join intermediate.int_clusters as clusters using (run_tag, debate_id)
    left join trials using (run_tag, debate_id)
    left join (select distinct run_tag, debate_id from marts.team_verdicts) as teams using (run_tag, debate_id)

),

-- On the scale pro, tie, con.
winner_patterns as (

    select
        run_tag,
        'winner' as unit,
        cluster_unit, cluster_id,
        list_concat(
            list_transform(range(0, count_pro), lambda i: cast(1 as decimal(18, 6))),
            list_concat(
                list_transform(range(0, count_tie), lambda i: cast(2 as decimal(18, 6))),
                list_transform(range(0, count_con), lambda i: cast(3 as decimal(18, 6)))
            )
        ) as ratings,
        count(*) as count_rated,
        count(case when is_first then 1 end) as count_first,
        count(case when is_first_of_size then 1 end) as count_first_of_size

    from panels
    where not is_of_teams
    group by run_tag, cluster_unit, cluster_id, count_pro, count_tie, count_con

),

-- Winning teams have no order, so their numbers only say which are the same.
team_codes as (

    select *, dense_rank() over (partition by run_tag order by winner) as code
    from marts.team_verdicts

),

team_lists as (

    select
        team_codes.run_tag, panels.cluster_unit, panels.cluster_id, panels.is_first, panels.is_first_of_size,
        list_sort(list(cast(team_codes.code as decimal(18, 6)))) as ratings

    from team_codes
    inner join panels using (run_tag, debate_id)
    group by
        team_codes.run_tag, team_codes.debate_id, panels.cluster_unit, panels.cluster_id, panels.is_first,
        panels.is_first_of_size
    having count(*) > 1

),

team_patterns as (

    select
        run_tag,
        'winning_teams' as unit,
        cluster_unit, cluster_id, ratings,
        count(*) as count_rated,
        count(case when is_first then 1 end) as count_first,
        count(case when is_first_of_size then 1 end) as count_first_of_size

    from team_lists
    group by run_tag, cluster_unit, cluster_id, ratings

),

debate_scores as (

    select
        run_tag, debate_id, dimension,
        list(pro_score) as pro_scores,
        list(con_score) as con_scores

    from marts.verdict_scores
    group by run_tag, debate_id, dimension
    having count(*) > 1

),

-- Joined after the scores are lists: there are fewer of them, and they are grouped by less.
score_lists as (

    select
        debate_scores.run_tag, debate_scores.dimension, panels.cluster_unit, panels.cluster_id,
        panels.is_first, panels.is_first_of_size, debate_scores.pro_scores, debate_scores.con_scores

    from debate_scores
    inner join panels using (run_tag, debate_id)

),

-- The rated item is the performance of one side in one debate.
side_lists as (

    select
        run_tag, dimension, cluster_unit, cluster_id, is_first, is_first_of_size,
        pro_scores as ratings

    from score_lists

    union all

    select
        run_tag, dimension, cluster_unit, cluster_id, is_first, is_first_of_size,
        con_scores as ratings

    from score_lists

),

-- Sorted after they are counted: there are fewer of them.
unsorted_patterns as (

    select
        run_tag, dimension, cluster_unit, cluster_id, ratings,
        count(*) as count_rated,
        count(case when is_first then 1 end) as count_first,
        count(case when is_first_of_size then 1 end) as count_first_of_size

    from side_lists
    group by run_tag, dimension, cluster_unit, cluster_id, ratings

),

sorted_patterns as (

    select
        run_tag, dimension, cluster_unit, cluster_id,
        list_sort(ratings) as ratings,
        count_rated, count_first, count_first_of_size

    from unsorted_patterns

),

score_patterns as (

    select
        run_tag,
        dimension as unit,
        cluster_unit, cluster_id, ratings,
        cast(sum(count_rated) as bigint) as count_rated,
        cast(sum(count_first) as bigint) as count_first,
        cast(sum(count_first_of_size) as bigint) as count_first_of_size

    from sorted_patterns
    group by run_tag, dimension, cluster_unit, cluster_id, ratings

),

final as (

    select * from winner_patterns
    union all
    select * from team_patterns
    union all
    select * from score_patterns

)

select * from final
