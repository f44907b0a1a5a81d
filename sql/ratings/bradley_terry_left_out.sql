-- One row per run, judge or category left out and debater that still has a rated debate.
with

-- Materialised, because the debates are counted again for the fits and for both sides.
kept as materialized (

    select * from ratings.matchups_left_out

),

fits as materialized (

    select
        kept.run_tag, kept.kind, kept.left_out,
        bradley_terry_ratings(
            list(kept.pro_code),
            list(kept.con_code),
            list(kept.pro_wins),
            list(kept.ties),
            list(kept.con_wins),
            any_value(runs.elo_initial_rating)
        ) as fit

    from kept
    inner join staging.stg_runs as runs using (run_tag)
    group by kept.run_tag, kept.kind, kept.left_out

),

sides as (

    select
        run_tag, kind, left_out,
        pro_model_id as model_id,
        pro_code as code,
        pro_wins + ties + con_wins as games

    from kept

    union all

    select
        run_tag, kind, left_out,
        con_model_id as model_id,
        con_code as code,
        pro_wins + ties + con_wins as games

    from kept

),

debaters as (

    select
        run_tag, kind, left_out, model_id,
        any_value(code) as code,
        cast(sum(games) as bigint) as games

    from sides
    group by run_tag, kind, left_out, model_id

),

rated as (

    select
        debaters.*,
        fits.fit.rating[debaters.code] as rating,
        list_max(fits.fit.component) > 1 as is_separated

    from debaters
    inner join fits using (run_tag, kind, left_out)

),

ranked as (

    select
        *,
        macros.shared_rank(rating, (run_tag, kind, left_out)) as rank

    from rated

),

final as (

    select
        ranked.run_tag, ranked.kind, ranked.left_out, ranked.model_id, bradley_terry.is_simulated, ranked.rating,
        ranked.rank, ranked.games,
        round(ranked.rating - bradley_terry.rating, 9) as rating_change,
        bradley_terry.rank - ranked.rank as places_gained,
        ranked.is_separated

    from ranked
    inner join ratings.bradley_terry using (run_tag, model_id)

)

select * from final
