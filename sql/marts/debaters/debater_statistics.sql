-- One row per debater with a rated debate: its win rate with intervals, its results by side, its opponents.
with

topic_points as (

    select
        run_tag, model_id, topic_id,
        cast(sum(games) as bigint) as games,
        cast(sum(2 * wins + ties) as bigint) as half_points

    from marts.debater_topics
    group by run_tag, model_id, topic_id

),

-- Whole numbers, whose sum does not depend on the order.
clusters as (

    select
        run_tag, model_id,
        count(*) as count_topics,
        min(cast(half_points as double) / games) < max(cast(half_points as double) / games) as has_spread,
        cast(sum(half_points * half_points) as double) / 4 as points_squared,
        cast(sum(half_points * games) as double) / 2 as points_times_games,
        cast(sum(games * games) as double) as games_squared

    from topic_points
    group by run_tag, model_id

),

counts as (

    select
        run_tag, model_id,
        cast(sum(games) as bigint) as games,
        cast(sum(wins) as bigint) as wins,
        cast(sum(losses) as bigint) as losses,
        cast(sum(ties) as bigint) as ties,
        cast(sum(case when side = 'pro' then games else 0 end) as bigint) as pro_games,
        cast(sum(case when side = 'pro' then wins else 0 end) as bigint) as pro_wins,
        cast(sum(case when side = 'pro' then losses else 0 end) as bigint) as pro_losses,
        cast(sum(case when side = 'con' then games else 0 end) as bigint) as con_games,
        cast(sum(case when side = 'con' then wins else 0 end) as bigint) as con_wins,
        cast(sum(case when side = 'con' then losses else 0 end) as bigint) as con_losses

    from marts.debater_topics
    group by run_tag, model_id

),

rates as materialized (

    select
        *,
        wins + 0.5 * ties as points,
        (wins + 0.5 * ties) / games as win_rate,
        0.5 * (pro_games + pro_wins - pro_losses) as pro_points,
        0.5 * (pro_games + pro_wins - pro_losses) / nullif(pro_games, 0) as pro_win_rate,
        0.5 * (con_games + con_wins - con_losses) as con_points,
        0.5 * (con_games + con_wins - con_losses) / nullif(con_games, 0) as con_win_rate,
        fisher_exact(pro_wins, pro_losses, con_wins, con_losses) as side_gap_p_value

    from counts

),

-- With one topic, the error is not defined.
errors as (

    select
        run_tag, model_id, clusters.count_topics, clusters.has_spread,
        macros.cluster_error(
            greatest(
                clusters.points_squared
                - 2 * rates.win_rate * clusters.points_times_games
                + rates.win_rate * rates.win_rate * clusters.games_squared,
                0
            ),
            clusters.count_topics,
            rates.games
        ) as win_rate_se

    from rates
    inner join clusters using (run_tag, model_id)

),

-- Where the win rate is the same on all topics, floats give an error that is sometimes slightly more than 0.
topic_intervals as (

    select
        run_tag, model_id,
        t_interval(rates.win_rate, errors.win_rate_se, errors.count_topics - 1, 0.95) as ends

    from errors
    inner join rates using (run_tag, model_id)
    where errors.has_spread

),

steps as (

    select
        *,
        cast(sum(pro_wins - con_wins) over (partition by run_tag) as double)
        / sum(pro_games) over (partition by run_tag) as run_side_gap,
        macros.holm_step(side_gap_p_value, run_tag) as holm_step,
        macros.benjamini_hochberg_step(side_gap_p_value, run_tag) as benjamini_hochberg_step

    from rates

),

final as (

    select
        run_tag, model_id, steps.games, steps.wins, steps.losses, steps.ties, steps.win_rate,
        macros.wilson_low(steps.points, steps.games) as win_rate_ci_low,
        macros.wilson_high(steps.points, steps.games) as win_rate_ci_high,
        errors.count_topics,
        macros.at_least(topic_intervals.ends.low, 0) as win_rate_topic_ci_low,
        macros.at_most(topic_intervals.ends.high, 1) as win_rate_topic_ci_high,
        steps.pro_games,
        steps.pro_win_rate,
        macros.wilson_low(steps.pro_points, steps.pro_games) as pro_win_rate_ci_low,
        macros.wilson_high(steps.pro_points, steps.pro_games) as pro_win_rate_ci_high,
        steps.con_games,
        steps.con_win_rate,
        macros.wilson_low(steps.con_points, steps.con_games) as con_win_rate_ci_low,
        macros.wilson_high(steps.con_points, steps.con_games) as con_win_rate_ci_high,
        steps.pro_win_rate - steps.con_win_rate as side_gap,
        steps.run_side_gap,
        steps.side_gap_p_value,
        macros.holm_p(steps.side_gap_p_value, steps.holm_step, run_tag) as side_gap_p_value_holm,
        macros.benjamini_hochberg_p(steps.side_gap_p_value, steps.benjamini_hochberg_step, run_tag) as side_gap_p_value_bh,
        schedules.count_opponents,
        schedules.mean_opponent_rating

    from steps
    inner join errors using (run_tag, model_id)
    left join topic_intervals using (run_tag, model_id)
    left join marts.debater_schedules as schedules using (run_tag, model_id)

)

select * from final
