-- One row per debater with a rated debate: its win rate with intervals, its results by side, its opponents.
with

topics as (

    select
        run_tag, model_id, topic_id,
        cast(sum(case when side = 'pro' then games else 0 end) as bigint) as pro_games,
        cast(sum(case when side = 'con' then games else 0 end) as bigint) as con_games,
        cast(sum(case when side = 'pro' then 2 * wins + ties else 0 end) as double) / 2 as pro_points,
        cast(sum(case when side = 'con' then 2 * wins + ties else 0 end) as double) / 2 as con_points

    from marts.debater_topics
    group by run_tag, model_id, topic_id

),

-- Topics that were debated on both sides are compared directly where nothing varies.
sides as (

    select
        run_tag, model_id,
        list({'n': pro_games, 'y': pro_points, 'other_n': con_games, 'other_y': con_points}) as topics,
        count(case when pro_points * con_games > con_points * pro_games then 1 end) as count_above,
        count(case when pro_points * con_games < con_points * pro_games then 1 end) as count_below

    from topics
    group by run_tag, model_id

),

results as (

    select
        rates.*,
        coalesce(pro.games, 0) as pro_games,
        coalesce(pro.wins, 0) as pro_wins,
        coalesce(pro.losses, 0) as pro_losses,
        pro.win_rate as pro_win_rate,
        pro.win_rate_ci_low as pro_win_rate_ci_low,
        pro.win_rate_ci_high as pro_win_rate_ci_high,
        coalesce(pro.win_rate_reason, case when pro.games is null then 'no_cases' end) as pro_win_rate_reason,
        coalesce(con.games, 0) as con_games,
        coalesce(con.wins, 0) as con_wins,
        coalesce(con.losses, 0) as con_losses,
        con.win_rate as con_win_rate,
        con.win_rate_ci_low as con_win_rate_ci_low,
        con.win_rate_ci_high as con_win_rate_ci_high,
        coalesce(con.win_rate_reason, case when con.games is null then 'no_cases' end) as con_win_rate_reason,
        pro.win_rate - con.win_rate as side_gap

    from intermediate.int_debater_rates as rates
    left join intermediate.int_debater_rates as pro
        on rates.run_tag = pro.run_tag
        and rates.model_id = pro.model_id
        and pro.kind = 'side' and pro.part = 'pro'
    left join intermediate.int_debater_rates as con
        on rates.run_tag = con.run_tag
        and rates.model_id = con.model_id
        and con.kind = 'side' and con.part = 'con'
    where rates.kind = 'all'

),

tested as materialized (

    select
        results.*,
        case
            when results.count_clusters = results.games
                then fisher_exact(results.pro_wins, results.pro_losses, results.con_wins, results.con_losses)
            else
                macros.difference_p(
                    results.side_gap,
                    macros.gap_error(sides.topics, results.pro_win_rate, results.con_win_rate),
                    results.count_clusters,
                    sides.count_above,
                    sides.count_below,
                    false
                )
        end as side_gap_p_value

    from results
    inner join sides using (run_tag, model_id)

),

steps as (

    select
        *,
        cast(sum(pro_wins - con_wins) over (partition by run_tag) as double)
        / sum(pro_games) over (partition by run_tag) as run_side_gap,
        macros.holm_step(side_gap_p_value, run_tag) as holm_step,
        macros.benjamini_hochberg_step(side_gap_p_value, run_tag) as benjamini_hochberg_step

    from tested

),

meetings as (

    select
        matchups.run_tag,
        case sides.side when 'pro' then matchups.pro_model_id else matchups.con_model_id end as model_id,
        case sides.side when 'pro' then matchups.con_model_id else matchups.pro_model_id end as opponent_id,
        matchups.pro_wins + matchups.con_wins + matchups.ties as games

    from ratings.matchups
    cross join (values ('pro'), ('con')) as sides (side)

),

-- Summed as decimals, because a sum of floats depends on the order of the rows.
opponents as (

    select
        meetings.run_tag, meetings.model_id,
        count(distinct meetings.opponent_id) as count_opponents,
        cast(sum(cast(bradley_terry.rating as decimal(18, 9)) * meetings.games) as double)
        / sum(meetings.games) as mean_opponent_rating

    from meetings
    inner join ratings.bradley_terry
        on meetings.run_tag = bradley_terry.run_tag
        and meetings.opponent_id = bradley_terry.model_id
    group by meetings.run_tag, meetings.model_id

),

final as (

    select
        run_tag, model_id, games, wins, losses, ties, win_rate, win_rate_ci_low, win_rate_ci_high,
        win_rate_reason, count_topics, count_clusters, pro_games, pro_win_rate, pro_win_rate_ci_low,
        pro_win_rate_ci_high, pro_win_rate_reason, con_games, con_win_rate, con_win_rate_ci_low,
        con_win_rate_ci_high, con_win_rate_reason, side_gap, run_side_gap, side_gap_p_value,
        macros.holm_p(side_gap_p_value, holm_step, run_tag) as side_gap_p_value_holm,
        macros.benjamini_hochberg_p(side_gap_p_value, benjamini_hochberg_step, run_tag) as side_gap_p_value_bh,
        macros.reason_of(
            side_gap_p_value is null, least(pro_games, con_games), side_gap, count_clusters, cluster_unit
        ) as side_gap_reason,
        opponents.count_opponents, opponents.mean_opponent_rating

    from steps
    left join opponents using (run_tag, model_id)

)

select * from final
