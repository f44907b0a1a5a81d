-- One row per topic of a run: how often pro wins, and how much more often than the strengths of the debaters predict.
with

expected as (

    select
        matchups.run_tag, matchups.topic_id,
        least(matchups.pro_model_id, matchups.con_model_id) as model_a,
        greatest(matchups.pro_model_id, matchups.con_model_id) as model_b,
        matchups.pro_wins, matchups.con_wins, matchups.ties,
        matchups.pro_wins + matchups.con_wins + matchups.ties as games,
        macros.expected_win_rate(pro.rating - con.rating) as pro_win_rate

    from ratings.matchups

    inner join ratings.bradley_terry as pro
        on matchups.run_tag = pro.run_tag and matchups.pro_model_id = pro.model_id

    inner join ratings.bradley_terry as con
        on matchups.run_tag = con.run_tag and matchups.con_model_id = con.model_id

),

-- Debates of the same two debaters on a topic are alike, so they are one observation. Decimals, because sums of floats
-- depend on the order of the rows.
pairs as (

    select
        run_tag, topic_id, model_a, model_b,
        sum(pro_wins) as pro_wins,
        sum(con_wins) as con_wins,
        sum(ties) as ties,
        sum(games) as games,
        sum(cast(games * pro_win_rate as decimal(38, 12))) as expected,
        sum(cast(games * pro_win_rate * (1 - pro_win_rate) as decimal(38, 12))) as variance,
        sum(cast(pro_wins + 0.5 * ties - games * pro_win_rate as decimal(38, 12))) as surplus

    from expected
    group by run_tag, topic_id, model_a, model_b

),

totals as (

    select
        run_tag, topic_id,
        count(*) as count_pairs,
        cast(sum(pro_wins) as bigint) as pro_wins,
        cast(sum(con_wins) as bigint) as con_wins,
        cast(sum(ties) as bigint) as ties,
        cast(sum(games) as bigint) as games,
        cast(sum(expected) as double) / sum(games) as expected_pro_win_rate,
        cast(sum(surplus) as double) / sum(games) as side_effect,
        cast(sum(sum(surplus)) over run as double) / sum(sum(games)) over run as run_side_effect,
        sqrt(cast(sum(variance) as double)) / sum(games) as least_error,
        list({'n': games, 'y': cast(surplus as double)}) as clusters

    from pairs
    group by run_tag, topic_id
    window run as (partition by run_tag)

),

-- Results that are all alike, such as ten wins in ten debates, hardly vary; that does not make them certain.
errors as (

    select
        *,
        case when count_pairs > 1 then greatest(macros.mean_error(clusters, side_effect), least_error) end as error

    from totals

),

tested as (

    select
        errors.*,
        macros.t_half_width(errors.error, t_quantiles.t_95) as half_width,
        macros.student_t_p(errors.side_effect / errors.error, errors.count_pairs - 1) as p_value

    from errors
    left join intermediate.int_t_quantiles as t_quantiles on errors.count_pairs - 1 = t_quantiles.df

),

steps as (

    select
        *,
        macros.holm_step(p_value, run_tag) as holm_step,
        macros.benjamini_hochberg_step(p_value, run_tag) as bh_step

    from tested

),

adjusted as (

    select
        *,
        macros.holm_p(p_value, holm_step, run_tag) as p_value_holm,
        macros.benjamini_hochberg_p(p_value, bh_step, run_tag) as p_value_bh

    from steps

),

debate_counts as (

    select run_tag, topic_id, count(*) as count_debates
    from staging.stg_debates
    where trial = 1
    group by run_tag, topic_id

),

final as (

    select
        topics.run_tag, topics.topic_id, topics.motion, topics.category,
        coalesce(debate_counts.count_debates, 0) as count_debates,
        coalesce(adjusted.games, 0) as games,
        coalesce(adjusted.pro_wins, 0) as pro_wins,
        coalesce(adjusted.con_wins, 0) as con_wins,
        coalesce(adjusted.ties, 0) as ties,
        (adjusted.pro_wins + 0.5 * adjusted.ties) / adjusted.games as pro_win_rate,
        adjusted.expected_pro_win_rate, adjusted.side_effect,
        -- Neither end is beyond what pro can win.
        macros.at_least(adjusted.side_effect - adjusted.half_width, -adjusted.expected_pro_win_rate) as ci_low,
        macros.at_most(adjusted.side_effect + adjusted.half_width, 1 - adjusted.expected_pro_win_rate) as ci_high,
        adjusted.p_value, adjusted.p_value_holm, adjusted.p_value_bh,
        case when adjusted.games is null then 'no_cases' when adjusted.count_pairs = 1 then 'one_pair' end as reason,
        adjusted.run_side_effect,
        coalesce(adjusted.count_pairs, 0) as count_pairs

    from staging.stg_topics as topics
    left join debate_counts using (run_tag, topic_id)
    left join adjusted using (run_tag, topic_id)

)

select * from final
