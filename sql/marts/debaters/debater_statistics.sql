-- One row per debater with a rated debate: its win rate and how sure that is, its two sides, whom it met.
with

topic_points as (

    select
        run_tag, model_id, topic_id,
        cast(sum(games) as bigint) as games,
        cast(sum(2 * wins + ties) as bigint) as half_points

    from marts.debater_topics
    group by run_tag, model_id, topic_id

),

-- Whole numbers, which add up to the same in every order.
clusters as (

    select
        run_tag, model_id,
        count(*) as count_topics,
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
        cast(coalesce(sum(case when side = 'pro' then games end), 0) as bigint) as pro_games,
        cast(coalesce(sum(case when side = 'pro' then wins end), 0) as bigint) as pro_wins,
        cast(coalesce(sum(case when side = 'pro' then losses end), 0) as bigint) as pro_losses,
        cast(coalesce(sum(case when side = 'con' then games end), 0) as bigint) as con_games,
        cast(coalesce(sum(case when side = 'con' then wins end), 0) as bigint) as con_wins,
        cast(coalesce(sum(case when side = 'con' then losses end), 0) as bigint) as con_losses

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
        fisher_exact(pro_wins, pro_losses, con_wins, con_losses) as side_gap_p

    from counts

),

-- Liang and Zeger's error of a mean over clusters, with the factor for few of them; with one topic there is none.
errors as (

    select
        rates.run_tag, rates.model_id, clusters.count_topics,
        case
            when clusters.count_topics > 1
                then
                    sqrt(
                        greatest(
                            clusters.points_squared
                            - 2 * rates.win_rate * clusters.points_times_games
                            + rates.win_rate * rates.win_rate * clusters.games_squared,
                            0
                        )
                        * clusters.count_topics / (clusters.count_topics - 1)
                    ) / rates.games
        end as win_rate_se

    from rates
    inner join clusters using (run_tag, model_id)

),

topic_intervals as (

    select
        errors.run_tag, errors.model_id,
        t_interval(rates.win_rate, errors.win_rate_se, errors.count_topics - 1, 0.95) as ends

    from errors
    inner join rates using (run_tag, model_id)
    where errors.count_topics > 1

),

-- Holm's and Benjamini and Hochberg's factors: m - i + 1 and m / i for the i-th smallest of a run's m p values.
placed as (

    select
        run_tag, model_id, side_gap_p,
        row_number() over (partition by run_tag order by side_gap_p) as place,
        count(*) over (partition by run_tag) as tests

    from rates
    where side_gap_p is not null

),

adjusted as (

    select
        run_tag, model_id,
        max(least(1, (tests - place + 1) * side_gap_p)) over (
            partition by run_tag order by side_gap_p range between unbounded preceding and current row
        ) as side_gap_p_holm,
        min(least(1, tests * side_gap_p / place)) over (
            partition by run_tag order by side_gap_p range between current row and unbounded following
        ) as side_gap_p_bh

    from placed

),

run_sides as (

    select
        run_tag,
        cast(sum(pro_wins) - sum(con_wins) as double) / sum(pro_wins + con_wins + ties) as run_side_gap

    from ratings.matchups
    group by run_tag

),

opponents as (

    select
        run_tag,
        pro_model_id as model_id,
        con_model_id as opponent_id,
        pro_wins + con_wins + ties as games

    from ratings.matchups

    union all

    select
        run_tag,
        con_model_id as model_id,
        pro_model_id as opponent_id,
        pro_wins + con_wins + ties as games

    from ratings.matchups

),

schedules as (

    select
        opponents.run_tag, opponents.model_id,
        count(distinct opponents.opponent_id) as count_opponents,
        -- Summed as decimals, because a sum of floats depends on the order of the rows.
        cast(sum(cast(bradley_terry.rating as decimal(18, 9)) * opponents.games) as double)
        / sum(opponents.games) as mean_opponent_rating

    from opponents

    inner join ratings.bradley_terry
        on opponents.run_tag = bradley_terry.run_tag
        and opponents.opponent_id = bradley_terry.model_id

    group by opponents.run_tag, opponents.model_id

),

final as (

    select
        rates.run_tag, rates.model_id, rates.games, rates.wins, rates.losses, rates.ties, rates.win_rate,
        wilson_interval(rates.points, rates.games, 0.95).low as win_rate_low,
        wilson_interval(rates.points, rates.games, 0.95).high as win_rate_high,
        errors.count_topics,
        case when topic_intervals.ends.low < 0 then 0 else topic_intervals.ends.low end as topic_low,
        case when topic_intervals.ends.high > 1 then 1 else topic_intervals.ends.high end as topic_high,
        rates.pro_games,
        rates.pro_win_rate,
        wilson_interval(rates.pro_points, nullif(rates.pro_games, 0), 0.95).low as pro_low,
        wilson_interval(rates.pro_points, nullif(rates.pro_games, 0), 0.95).high as pro_high,
        rates.con_games,
        rates.con_win_rate,
        wilson_interval(rates.con_points, nullif(rates.con_games, 0), 0.95).low as con_low,
        wilson_interval(rates.con_points, nullif(rates.con_games, 0), 0.95).high as con_high,
        rates.pro_win_rate - rates.con_win_rate as side_gap,
        run_sides.run_side_gap,
        rates.side_gap_p,
        adjusted.side_gap_p_holm,
        adjusted.side_gap_p_bh,
        schedules.count_opponents,
        schedules.mean_opponent_rating

    from rates
    inner join errors using (run_tag, model_id)
    inner join run_sides using (run_tag)
    left join topic_intervals using (run_tag, model_id)
    left join adjusted using (run_tag, model_id)
    left join schedules using (run_tag, model_id)

)

select * from final
