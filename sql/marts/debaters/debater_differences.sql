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

tested as materialized (

    select
        pairs.run_tag, pairs.model_a, pairs.model_b,
        coalesce(direct.games, 0) as games,
        coalesce(direct.a_wins, 0) as a_wins,
        coalesce(direct.b_wins, 0) as b_wins,
        coalesce(direct.ties, 0) as ties,
        direct.wins_p_value,
        case when direct.games is null then 'no_cases' else direct.wins_reason end as wins_reason,
        coalesce(score_gaps.count_debates, 0) as count_scored_debates,
        coalesce(score_gaps.count_topics, 0) as count_scored_topics,
        score_gaps.mean_gap as score_gap,
        score_gaps.ci_low as score_gap_ci_low,
        score_gaps.ci_high as score_gap_ci_high,
        score_gaps.p_value as score_gap_p_value,
        case when score_gaps.mean_gap is null then 'no_cases' else score_gaps.reason end as score_gap_reason,
        coalesce(rate_gaps.count_topics, 0) as count_common_topics,
        rate_gaps.mean_gap as win_rate_gap,
        rate_gaps.standard_error as win_rate_gap_standard_error,
        rate_gaps.ci_low as win_rate_gap_ci_low,
        rate_gaps.ci_high as win_rate_gap_ci_high,
        rate_gaps.p_value as win_rate_gap_p_value,
        case when rate_gaps.mean_gap is null then 'no_cases' else rate_gaps.reason end as win_rate_gap_reason

    from pairs
    left join intermediate.int_debater_meetings as direct using (run_tag, model_a, model_b)
    left join intermediate.int_debater_score_gaps as score_gaps using (run_tag, model_a, model_b)
    left join intermediate.int_debater_rate_gaps as rate_gaps using (run_tag, model_a, model_b)

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
        wins_p_value, wins_p_value_holm, wins_reason, count_games_needed,
        macros.debates_needed(count_games_needed, ties / nullif(games, 0), 1) as count_debates_needed,
        count_scored_debates, count_scored_topics,
        round(score_gap, 9) as score_gap,
        score_gap_ci_low, score_gap_ci_high, score_gap_p_value, score_gap_p_value_holm, score_gap_reason,
        count_common_topics, win_rate_gap, win_rate_gap_standard_error, win_rate_gap_ci_low, win_rate_gap_ci_high,
        win_rate_gap_p_value, win_rate_gap_p_value_holm, win_rate_gap_reason,
        win_rate_gap_p_value_holm < 0.05 as is_significant

    from adjusted

)

select * from final
