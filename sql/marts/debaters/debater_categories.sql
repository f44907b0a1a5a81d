-- One row per debater and category with a rated debate: is it better or worse there than elsewhere?
with

counts as (

    select
        debater_topics.run_tag, debater_topics.model_id,
        coalesce(topics.category, 'uncategorized') as category,
        cast(sum(debater_topics.games) as bigint) as games,
        cast(sum(debater_topics.wins) as bigint) as wins,
        cast(sum(debater_topics.losses) as bigint) as losses,
        cast(sum(debater_topics.ties) as bigint) as ties

    from marts.debater_topics
    left join staging.stg_topics as topics using (run_tag, topic_id)
    group by debater_topics.run_tag, debater_topics.model_id, coalesce(topics.category, 'uncategorized')

),

totals as (

    select
        run_tag, model_id,
        cast(sum(games) as bigint) as games,
        cast(sum(wins) as bigint) as wins,
        cast(sum(losses) as bigint) as losses,
        cast(sum(ties) as bigint) as ties

    from counts
    group by run_tag, model_id

),

compared as (

    select
        counts.run_tag,
        counts.model_id,
        counts.category,
        counts.games,
        counts.wins,
        counts.losses,
        counts.ties,
        (counts.wins + 0.5 * counts.ties) / counts.games as win_rate,
        wilson_interval(counts.wins + 0.5 * counts.ties, counts.games, 0.95) as ends,
        totals.games - counts.games as other_games,
        (totals.wins - counts.wins + 0.5 * (totals.ties - counts.ties))
        / nullif(totals.games - counts.games, 0) as other_win_rate,
        fisher_exact(counts.wins, counts.losses, totals.wins - counts.wins, totals.losses - counts.losses) as p_value

    from counts
    inner join totals using (run_tag, model_id)

),

steps as (

    select
        *,
        macros.holm_step(p_value, run_tag) as holm_step,
        macros.benjamini_hochberg_step(p_value, run_tag) as benjamini_hochberg_step

    from compared

),

final as (

    select
        run_tag, model_id, category, games, wins, losses, ties, win_rate,
        ends.low as win_rate_ci_low,
        ends.high as win_rate_ci_high,
        other_games, other_win_rate,
        win_rate - other_win_rate as difference,
        p_value,
        macros.holm_p(p_value, holm_step, run_tag) as p_value_holm,
        macros.benjamini_hochberg_p(p_value, benjamini_hochberg_step, run_tag) as p_value_bh

    from steps

)

select * from final
