-- One row per debater of a run with a rated debate: its rating and rank, with intervals.
with

sides as (

    select
        run_tag,
        pro_model_id as model_id,
        pro_code as code,
        pro_wins + ties + con_wins as games,
        count_simulated

    from ratings.matchups

    union all

    select
        run_tag,
        con_model_id as model_id,
        con_code as code,
        pro_wins + ties + con_wins as games,
        count_simulated

    from ratings.matchups

),

debaters as (

    select
        run_tag, model_id,
        any_value(code) as code,
        cast(sum(games) as bigint) as games,
        sum(count_simulated) = sum(games) as is_simulated

    from sides
    group by run_tag, model_id

),

-- Materialised, so that the fit is computed once, not once per column that is taken from it.
fits as materialized (

    select
        matchups.run_tag,
        bradley_terry_standings(
            list(matchups.topic_code),
            list(matchups.pro_code),
            list(matchups.con_code),
            list(matchups.pro_wins),
            list(matchups.ties),
            list(matchups.con_wins),
            any_value(runs.elo_initial_rating),
            1000,
            0
        ) as standings

    from ratings.matchups
    inner join staging.stg_runs as runs using (run_tag)
    group by matchups.run_tag

),

final as (

    select
        debaters.run_tag, debaters.model_id,
        debaters.is_simulated,
        fits.standings.rating[debaters.code] as rating,
        fits.standings.ci_low[debaters.code] as ci_low,
        fits.standings.ci_high[debaters.code] as ci_high,
        fits.standings.rank[debaters.code] as rank,
        fits.standings.rank_low[debaters.code] as rank_low,
        fits.standings.rank_high[debaters.code] as rank_high,
        debaters.games,
        fits.standings.count_topics as count_topics,
        fits.standings.interval_method as interval_method,
        fits.standings.is_separated as is_separated,
        fits.standings.component[debaters.code] as component

    from debaters
    inner join fits using (run_tag)

)

select * from final
