-- One row per pair of debaters with a rated debate: direct debates, the scores in them, and points on the same topics.
with

debaters as (

    select distinct run_tag, model_id from marts.debater_topics

),

pairs as (

    select one.run_tag, one.model_id as model_a, two.model_id as model_b
    from debaters as one
    inner join debaters as two on one.run_tag = two.run_tag and one.model_id < two.model_id

),

direct as (

    select
        run_tag,
        least(pro_model_id, con_model_id) as model_a,
        greatest(pro_model_id, con_model_id) as model_b,
        cast(sum(case when pro_model_id < con_model_id then pro_wins else con_wins end) as bigint) as a_wins,
        cast(sum(case when pro_model_id < con_model_id then con_wins else pro_wins end) as bigint) as b_wins,
        cast(sum(ties) as bigint) as ties

    from ratings.matchups
    group by all

),

-- Points per game on one topic and side, against all opponents, where both debaters spoke on that side.
topic_rates as (

    select
        one.run_tag, one.topic_id, one.model_id as model_a, two.model_id as model_b,
        cast(
            avg((one.wins + 0.5 * one.ties) / one.games - (two.wins + 0.5 * two.ties) / two.games) as decimal(18, 9)
        ) as rate_gap

    from marts.debater_topics as one

    inner join marts.debater_topics as two
        on one.run_tag = two.run_tag
        and one.topic_id = two.topic_id
        and one.side = two.side
        and one.model_id < two.model_id

    group by one.run_tag, one.topic_id, one.model_id, two.model_id

),

rate_gaps as (

    select
        run_tag, model_a, model_b,
        count(*) as count_topics,
        cast(sum(rate_gap) as double) / count(*) as mean_gap,
        -- Rounded, because equal gaps have a spread of 0, and floats give slightly more.
        case when count(*) > 1 then
            sqrt(
                round(
                    cast(sum(rate_gap * rate_gap) as double) - power(cast(sum(rate_gap) as double), 2) / count(*), 12
                ) / (count(*) - 1) / count(*)
            )
        end as standard_error

    from topic_rates
    group by run_tag, model_a, model_b

),

tested as materialized (

    select
        pairs.run_tag, pairs.model_a, pairs.model_b,
        coalesce(direct.a_wins + direct.b_wins + direct.ties, 0) as games,
        coalesce(direct.a_wins, 0) as a_wins,
        coalesce(direct.b_wins, 0) as b_wins,
        coalesce(direct.ties, 0) as ties,
        sign_test(direct.a_wins, direct.b_wins) as wins_p_value,
        coalesce(score_gaps.count_debates, 0) as count_scored_debates,
        coalesce(score_gaps.count_topics, 0) as count_scored_topics,
        score_gaps.mean_gap as score_gap,
        t_interval(score_gaps.mean_gap, nullif(score_gaps.standard_error, 0), score_gaps.count_topics - 1, 0.95) as score_ends,
        t_test(score_gaps.mean_gap, score_gaps.standard_error, score_gaps.count_topics - 1) as score_gap_p_value,
        coalesce(rate_gaps.count_topics, 0) as count_common_topics,
        rate_gaps.mean_gap as win_rate_gap,
        rate_gaps.standard_error as win_rate_gap_standard_error,
        t_interval(rate_gaps.mean_gap, nullif(rate_gaps.standard_error, 0), rate_gaps.count_topics - 1, 0.95) as win_rate_ends,
        t_test(rate_gaps.mean_gap, rate_gaps.standard_error, rate_gaps.count_topics - 1) as win_rate_gap_p_value

    from pairs
    left join direct using (run_tag, model_a, model_b)
    left join marts.debater_score_gaps as score_gaps using (run_tag, model_a, model_b)
    left join rate_gaps using (run_tag, model_a, model_b)

),

steps as (

    select
        *,
        count(wins_p_value) over (partition by run_tag) as count_direct_tests,
        macros.holm_step(wins_p_value, run_tag) as wins_step,
        macros.holm_step(score_gap_p_value, run_tag) as score_step,
        macros.holm_step(win_rate_gap_p_value, run_tag) as win_rate_step

    from tested

),

adjusted as (

    select
        *,
        games_needed(a_wins / nullif(a_wins + b_wins, 0), 0.8, 0.05 / nullif(count_direct_tests, 0)) as count_games_needed,
        macros.holm_p(wins_p_value, wins_step, run_tag) as wins_p_value_holm,
        macros.holm_p(score_gap_p_value, score_step, run_tag) as score_gap_p_value_holm,
        macros.holm_p(win_rate_gap_p_value, win_rate_step, run_tag) as win_rate_gap_p_value_holm

    from steps

),

final as (

    select
        run_tag, model_a, model_b, games, a_wins, b_wins, ties,
        a_wins - b_wins as net_wins,
        (a_wins + 0.5 * ties) / nullif(games, 0) as a_win_rate,
        wins_p_value, wins_p_value_holm, count_games_needed,
        debates_needed(count_games_needed, ties / nullif(games, 0), 1) as count_debates_needed,
        count_scored_debates, count_scored_topics,
        round(score_gap, 9) as score_gap,
        score_ends.low as score_gap_ci_low,
        score_ends.high as score_gap_ci_high,
        score_gap_p_value, score_gap_p_value_holm,
        count_common_topics, win_rate_gap, win_rate_gap_standard_error,
        win_rate_ends.low as win_rate_gap_ci_low,
        win_rate_ends.high as win_rate_gap_ci_high,
        win_rate_gap_p_value, win_rate_gap_p_value_holm,
        win_rate_gap_p_value_holm < 0.05 as is_significant

    from adjusted

)

select * from final
