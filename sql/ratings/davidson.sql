-- One row per debater of a run with a rated debate: its rating by Davidson's model of ties.
with

pair_counts as (

    select
        run_tag, pro_code, con_code,
        cast(sum(pro_wins) as integer) as pro_wins,
        cast(sum(ties) as integer) as ties,
        cast(sum(con_wins) as integer) as con_wins

    from ratings.matchups
    group by run_tag, pro_code, con_code

),

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
        sum(count_simulated) = sum(games) as is_simulated

    from sides
    group by run_tag, model_id

),

fits as materialized (

    select
        pair_counts.run_tag,
        davidson_ratings(
            list(pair_counts.pro_code),
            list(pair_counts.con_code),
            list(pair_counts.pro_wins),
            list(pair_counts.ties),
            list(pair_counts.con_wins),
            any_value(runs.elo_initial_rating)
        ) as fit

    from pair_counts
    inner join staging.stg_runs as runs using (run_tag)
    group by pair_counts.run_tag

),

final as (

    select
        debaters.run_tag, debaters.model_id, debaters.is_simulated,
        fits.fit.rating[debaters.code] as rating,
        macros.shared_rank(fits.fit.rating[debaters.code], debaters.run_tag) as rank,
        fits.fit.nu as nu,
        fits.fit.tie_rate as tie_rate,
        fits.fit.is_separated as is_separated

    from debaters
    inner join fits using (run_tag)

)

select * from final
