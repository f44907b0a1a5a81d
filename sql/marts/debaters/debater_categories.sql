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

compared as materialized (

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
        fisher_exact(counts.wins, counts.losses, totals.wins - counts.wins, totals.losses - counts.losses) as p

    from counts
    inner join totals using (run_tag, model_id)

),

-- Holm's and Benjamini and Hochberg's factors: m - i + 1 and m / i for the i-th smallest of a run's m p values.
placed as (

    select
        run_tag, model_id, category, p,
        row_number() over (partition by run_tag order by p) as place,
        count(*) over (partition by run_tag) as tests

    from compared
    where p is not null

),

adjusted as (

    select
        run_tag, model_id, category,
        max(least(1, (tests - place + 1) * p)) over (
            partition by run_tag order by p range between unbounded preceding and current row
        ) as p_holm,
        min(least(1, tests * p / place)) over (
            partition by run_tag order by p range between current row and unbounded following
        ) as p_bh

    from placed

),

final as (

    select
        compared.run_tag,
        compared.model_id,
        compared.category,
        compared.games,
        compared.wins,
        compared.losses,
        compared.ties,
        compared.win_rate,
        compared.ends.low as win_rate_low,
        compared.ends.high as win_rate_high,
        compared.other_games,
        compared.other_win_rate,
        compared.win_rate - compared.other_win_rate as difference,
        compared.p,
        adjusted.p_holm,
        adjusted.p_bh

    from compared
    left join adjusted using (run_tag, model_id, category)

)

select * from final
