-- One row per pair of debaters with a rated debate: direct games, scores where they met, and points on the same topics.
with

debaters as (

    select distinct run_tag, model_id from marts.debater_topics

),

pairs as (

    select
        one.run_tag,
        one.model_id as model_a,
        two.model_id as model_b

    from debaters as one

    inner join debaters as two
        on one.run_tag = two.run_tag
        and one.model_id < two.model_id

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
    group by run_tag, least(pro_model_id, con_model_id), greatest(pro_model_id, con_model_id)

),

-- How far pro was ahead, by debate, and then how far the first of the two was, by topic. Sums are decimals, because
-- a sum of floats depends on the order of the rows.
verdict_gaps as (

    select
        run_tag, debate_id,
        cast(
            sum(
                cast(
                    cast(pro_total as double) / count_dimensions - cast(con_total as double) / count_dimensions
                    as decimal(18, 12)
                )
            ) as double
        ) / count(*) as pro_gap

    from intermediate.int_verdict_totals
    where is_valid and pro_total is not null and con_total is not null
    group by run_tag, debate_id

),

debate_gaps as (

    select
        games.run_tag, games.topic_id, games.pro_model_id, games.con_model_id,
        cast(verdict_gaps.pro_gap as decimal(18, 12)) as pro_gap

    from marts.games
    inner join verdict_gaps using (run_tag, debate_id)

),

topic_gaps as (

    select
        run_tag, topic_id,
        least(pro_model_id, con_model_id) as model_a,
        greatest(pro_model_id, con_model_id) as model_b,
        count(*) as debates,
        cast(sum(case when pro_model_id < con_model_id then pro_gap else -pro_gap end) as double) as gap

    from debate_gaps
    group by run_tag, topic_id, least(pro_model_id, con_model_id), greatest(pro_model_id, con_model_id)

),

mean_gaps as (

    select
        run_tag, model_a, model_b,
        cast(sum(debates) as bigint) as debates,
        count(*) as topics,
        cast(sum(cast(gap as decimal(28, 12))) as double) / sum(debates) as mean_gap

    from topic_gaps
    group by run_tag, model_a, model_b

),

-- Liang and Zeger's error of a mean over clusters, with the factor for few of them.
score_errors as (

    select
        mean_gaps.run_tag,
        mean_gaps.model_a,
        mean_gaps.model_b,
        mean_gaps.debates,
        mean_gaps.topics,
        mean_gaps.mean_gap,
        case
            when mean_gaps.topics > 1
                then
                    sqrt(
                        cast(
                            sum(
                                cast(
                                    power(topic_gaps.gap - topic_gaps.debates * mean_gaps.mean_gap, 2)
                                    as decimal(38, 18)
                                )
                            ) as double
                        )
                        * mean_gaps.topics / (mean_gaps.topics - 1)
                    ) / mean_gaps.debates
        end as standard_error

    from mean_gaps
    inner join topic_gaps using (run_tag, model_a, model_b)

    group by
        mean_gaps.run_tag,
        mean_gaps.model_a,
        mean_gaps.model_b,
        mean_gaps.debates,
        mean_gaps.topics,
        mean_gaps.mean_gap

),

-- Points per game on one topic and side, against everybody, where both debaters spoke on that side.
side_rates as (

    select
        run_tag, topic_id, side, model_id,
        (wins + 0.5 * ties) / games as rate

    from marts.debater_topics

),

topic_rates as (

    select
        one.run_tag, one.topic_id,
        one.model_id as model_a,
        two.model_id as model_b,
        cast(avg(one.rate - two.rate) as decimal(18, 9)) as rate_gap

    from side_rates as one

    inner join side_rates as two
        on one.run_tag = two.run_tag
        and one.topic_id = two.topic_id
        and one.side = two.side
        and one.model_id < two.model_id

    group by one.run_tag, one.topic_id, one.model_id, two.model_id

),

rate_gaps as (

    select
        run_tag, model_a, model_b,
        count(*) as topics,
        cast(sum(rate_gap) as double) / count(*) as mean_gap,
        case
            when count(*) > 1
                then
                    sqrt(
                        -- Rounded, because equal gaps have no spread, and floats leave a little.
                        round(
                            cast(sum(rate_gap * rate_gap) as double)
                            - power(cast(sum(rate_gap) as double), 2) / count(*),
                            12
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
        sign_test(direct.a_wins, direct.b_wins) as wins_p,
        games_needed(direct.a_wins / nullif(direct.a_wins + direct.b_wins, 0), 0.8, 0.05) as games_needed,
        coalesce(score_errors.debates, 0) as scored_debates,
        coalesce(score_errors.topics, 0) as scored_topics,
        score_errors.mean_gap as score_gap,
        t_interval(score_errors.mean_gap, score_errors.standard_error, score_errors.topics - 1, 0.95) as score_ends,
        t_test(score_errors.mean_gap, score_errors.standard_error, score_errors.topics - 1) as score_p,
        coalesce(rate_gaps.topics, 0) as common_topics,
        rate_gaps.mean_gap as win_rate_gap,
        rate_gaps.standard_error as win_rate_gap_se,
        t_interval(rate_gaps.mean_gap, rate_gaps.standard_error, rate_gaps.topics - 1, 0.95) as win_rate_ends,
        t_test(rate_gaps.mean_gap, rate_gaps.standard_error, rate_gaps.topics - 1) as win_rate_p

    from pairs
    left join direct using (run_tag, model_a, model_b)
    left join score_errors using (run_tag, model_a, model_b)
    left join rate_gaps using (run_tag, model_a, model_b)

),

-- Holm's factor is m - i + 1 for the i-th smallest of a run's m p values. Null is no test.
placed as (

    select
        *,
        count(wins_p) over (partition by run_tag)
        + 1 - row_number() over (partition by run_tag order by wins_p nulls last) as wins_factor,
        count(score_p) over (partition by run_tag)
        + 1 - row_number() over (partition by run_tag order by score_p nulls last) as score_factor,
        count(win_rate_p) over (partition by run_tag)
        + 1 - row_number() over (partition by run_tag order by win_rate_p nulls last) as win_rate_factor

    from tested

),

adjusted as (

    select
        *,
        max(least(1, wins_factor * wins_p)) over (
            partition by run_tag order by wins_p nulls last range between unbounded preceding and current row
        ) as wins_p_holm,
        max(least(1, score_factor * score_p)) over (
            partition by run_tag order by score_p nulls last range between unbounded preceding and current row
        ) as score_p_holm,
        max(least(1, win_rate_factor * win_rate_p)) over (
            partition by run_tag order by win_rate_p nulls last range between unbounded preceding and current row
        ) as win_rate_p_holm

    from placed

),

final as (

    select
        run_tag, model_a, model_b, games, a_wins, b_wins, ties,
        a_wins - b_wins as net_wins,
        (a_wins + 0.5 * ties) / nullif(games, 0) as a_win_rate,
        wins_p,
        case when wins_p is not null then wins_p_holm end as wins_p_holm,
        games_needed,
        debates_needed(games_needed, ties / nullif(games, 0), 1) as debates_needed,
        scored_debates,
        scored_topics,
        round(score_gap, 9) as score_gap,
        score_ends.low as score_gap_low,
        score_ends.high as score_gap_high,
        score_p,
        case when score_p is not null then score_p_holm end as score_p_holm,
        common_topics,
        win_rate_gap,
        win_rate_gap_se,
        win_rate_ends.low as win_rate_gap_low,
        win_rate_ends.high as win_rate_gap_high,
        win_rate_p,
        case when win_rate_p is not null then win_rate_p_holm end as win_rate_p_holm,
        coalesce(win_rate_p is not null and win_rate_p_holm < 0.05, false) as is_told_apart

    from adjusted

)

select * from final
