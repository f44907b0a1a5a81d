-- One row per debater with a rated debate in any run: Bradley–Terry over all of them.
with

-- The run that was made last says around which rating all others lie.
rated_runs as (

    select run_tag, benchmark_version, elo_initial_rating, created_at
    from staging.stg_runs as runs

    where
        run_tag in (select bradley_terry.run_tag from ratings.bradley_terry)

),

numbered_runs as (

    select
        *,
        row_number() over (order by created_at nulls last, run_tag) as run_number,
        count(*) over () as count_runs

    from rated_runs

),

-- Where there is one run only, its ratings are known.
single_ratings as (

    select
        bradley_terry.model_id,
        bradley_terry.rating,
        bradley_terry.ci_low,
        bradley_terry.ci_high,
        bradley_terry.rank,
        bradley_terry.rank_low,
        bradley_terry.rank_high,
        bradley_terry.games,
        bradley_terry.count_topics,
        bradley_terry.interval_method,
        bradley_terry.is_separated,
        bradley_terry.component,
        numbered_runs.count_runs

    from ratings.bradley_terry
    inner join numbered_runs using (run_tag)
    where numbered_runs.count_runs = 1

),

-- Runs that debated a topic of one id are taken to have debated the same topic.
pooled_matchups as materialized (

    select
        matchups.topic_id, matchups.pro_model_id, matchups.con_model_id,
        cast(sum(matchups.pro_wins) as integer) as pro_wins,
        cast(sum(matchups.ties) as integer) as ties,
        cast(sum(matchups.con_wins) as integer) as con_wins

    from ratings.matchups
    inner join numbered_runs using (run_tag)
    where numbered_runs.count_runs > 1
    group by matchups.topic_id, matchups.pro_model_id, matchups.con_model_id

),

sides as (

    select
        pro_model_id as model_id,
        pro_wins + ties + con_wins as games

    from pooled_matchups

    union all

    select
        con_model_id as model_id,
        pro_wins + ties + con_wins as games

    from pooled_matchups

),

debaters as (

    select
        model_id,
        cast(row_number() over (order by model_id) as integer) as code,
        cast(sum(games) as bigint) as games

    from sides
    group by model_id

),

coded_matchups as (

    select
        pooled_matchups.*,
        cast(
            dense_rank() over (order by pooled_matchups.topic_id) as integer
        ) as topic_code,
        pro_codes.code as pro_code,
        con_codes.code as con_code

    from pooled_matchups
    inner join debaters as pro_codes on pooled_matchups.pro_model_id = pro_codes.model_id
    inner join debaters as con_codes on pooled_matchups.con_model_id = con_codes.model_id

),

last_runs as (

    select * from numbered_runs where run_number = count_runs

),

fits as materialized (

    select
        any_value(last_runs.count_runs) as count_runs,
        bradley_terry_standings(
            list(coded_matchups.topic_code),
            list(coded_matchups.pro_code),
            list(coded_matchups.con_code),
            list(coded_matchups.pro_wins),
            list(coded_matchups.ties),
            list(coded_matchups.con_wins),
            any_value(last_runs.elo_initial_rating),
            1000,
            0
        ) as standings

    from coded_matchups
    cross join last_runs
    having count(*) > 0

),

pooled_ratings as (

    select
        debaters.model_id,
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
        fits.standings.component[debaters.code] as component,
        fits.count_runs

    from debaters
    cross join fits

),

final as (

    select * from single_ratings
    union all
    select * from pooled_ratings

)

select * from final
