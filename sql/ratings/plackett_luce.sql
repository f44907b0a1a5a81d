-- One row per debater of a run with a rated debate of four teams: its rating and rank, with intervals.
with

-- Rating functions identify debates, topics and debaters by numbers from 1.
places as (

    select
        run_tag, debate_id, model_id, rank, points, result, first_rate, mean_score, is_simulated,
        cast(dense_rank() over (partition by run_tag order by debate_id) as integer) as debate_code,
        cast(dense_rank() over (partition by run_tag order by topic_id) as integer) as topic_code,
        cast(dense_rank() over (partition by run_tag order by model_id) as integer) as code

    from marts.team_results
    where is_rated

),

debaters as (

    select
        run_tag, model_id,
        any_value(code) as code,
        count(*) as games,
        count(case when result = 'win' then 1 end) as wins,
        count(case when result = 'loss' then 1 end) as losses,
        count(case when result = 'tie' then 1 end) as ties,
        -- Summed as decimals, because a sum of floats depends on the order of the rows.
        cast(sum(cast(first_rate as decimal(38, 12))) as double) / count(*) as first_rate,
        sum(points) / count(*) as mean_points,
        round(cast(sum(cast(mean_score as decimal(38, 12))) as double) / count(mean_score), 9) as mean_score,
        count(case when not is_simulated then 1 end) = 0 as is_simulated

    from places
    group by run_tag, model_id

),

-- Materialised, so that the fit is computed once, not once per column that is taken from it.
fits as materialized (

    select
        places.run_tag,
        plackett_luce_standings(
            list(places.debate_code),
            list(places.topic_code),
            list(places.code),
            list(places.rank),
            any_value(runs.elo_initial_rating),
            0
        ) as standings

    from places
    inner join staging.stg_runs as runs using (run_tag)
    group by places.run_tag

),

final as (

    select
        debaters.run_tag, debaters.model_id, debaters.is_simulated,
        fits.standings.rating[debaters.code] as rating,
        fits.standings.ci_low[debaters.code] as ci_low,
        fits.standings.ci_high[debaters.code] as ci_high,
        fits.standings.rank[debaters.code] as rank,
        fits.standings.rank_low[debaters.code] as rank_low,
        fits.standings.rank_high[debaters.code] as rank_high,
        debaters.games, debaters.wins, debaters.losses, debaters.ties, debaters.first_rate, debaters.mean_points,
        debaters.mean_score,
        fits.standings.count_topics as count_topics,
        fits.standings.interval_method as interval_method,
        fits.standings.is_separated as is_separated,
        fits.standings.component[debaters.code] as component

    from debaters
    inner join fits using (run_tag)

)

select * from final
