-- One row per run, unit, cluster and list of ratings that a panel of two or more gave.
with

-- On the scale pro, tie, con.
winner_patterns as (

    select
        panel_winners.run_tag,
        'winner' as unit,
        clusters.cluster_id,
        list_concat(
            list_transform(range(0, panel_winners.count_pro), lambda i: cast(1 as decimal(18, 6))),
            list_concat(
                list_transform(range(0, panel_winners.count_tie), lambda i: cast(2 as decimal(18, 6))),
                list_transform(range(0, panel_winners.count_con), lambda i: cast(3 as decimal(18, 6)))
            )
        ) as ratings,
        count(*) as count_rated

    from marts.panel_winners
    inner join intermediate.int_clusters as clusters using (run_tag, debate_id)
    where panel_winners.winner <> 'no_decision' and panel_winners.count_valid_verdicts > 1

    group by
        panel_winners.run_tag,
        clusters.cluster_id,
        panel_winners.count_pro,
        panel_winners.count_tie,
        panel_winners.count_con

),

score_lists as (

    select
        verdict_scores.run_tag, verdict_scores.dimension, clusters.cluster_id,
        list_sort(list(verdict_scores.pro_score)) as pro_scores,
        list_sort(list(verdict_scores.con_score)) as con_scores

    from marts.verdict_scores
    inner join marts.panel_winners using (run_tag, debate_id)
    inner join intermediate.int_clusters as clusters using (run_tag, debate_id)
    where panel_winners.winner <> 'no_decision'
    group by verdict_scores.run_tag, verdict_scores.debate_id, verdict_scores.dimension, clusters.cluster_id
    having count(*) > 1

),

-- The rated item is the performance of one side in one debate.
side_lists as (

    select
        run_tag, dimension, cluster_id,
        pro_scores as ratings

    from score_lists

    union all

    select
        run_tag, dimension, cluster_id,
        con_scores as ratings

    from score_lists

),

score_patterns as (

    select
        run_tag,
        dimension as unit,
        cluster_id,
        ratings,
        count(*) as count_rated

    from side_lists
    group by run_tag, dimension, cluster_id, ratings

),

final as (

    select * from winner_patterns
    union all
    select * from score_patterns

)

select * from final
