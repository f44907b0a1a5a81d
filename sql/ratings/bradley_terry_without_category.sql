-- One row per run, category left out and debater that has a rated debate in another one.
with

categorised as (

    select
        matchups.*,
        topics.category

    from ratings.matchups
    left join staging.stg_topics as topics using (run_tag, topic_id)

),

categories as (

    select distinct run_tag, category from categorised where category is not null

),

kept as materialized (

    select
        categories.run_tag,
        categories.category,
        categorised.pro_model_id,
        categorised.con_model_id,
        categorised.pro_code,
        categorised.con_code,
        cast(sum(categorised.pro_wins) as integer) as pro_wins,
        cast(sum(categorised.ties) as integer) as ties,
        cast(sum(categorised.con_wins) as integer) as con_wins

    from categories

    inner join categorised
        on categories.run_tag = categorised.run_tag
        and categories.category is distinct from categorised.category

    group by all

),

fits as materialized (

    select
        kept.run_tag, kept.category,
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
    group by kept.run_tag, kept.category

),

sides as (

    select
        run_tag, category,
        pro_model_id as model_id,
        pro_code as code,
        pro_wins + ties + con_wins as games

    from kept

    union all

    select
        run_tag, category,
        con_model_id as model_id,
        con_code as code,
        pro_wins + ties + con_wins as games

    from kept

),

debaters as (

    select
        run_tag, category, model_id,
        any_value(code) as code,
        cast(sum(games) as bigint) as games

    from sides
    group by run_tag, category, model_id

),

rated as (

    select
        debaters.run_tag, debaters.category, debaters.model_id, debaters.games,
        fits.fit.rating[debaters.code] as rating,
        list_max(fits.fit.component) > 1 as is_separated

    from debaters
    inner join fits using (run_tag, category)

),

ranked as (

    select
        *,
        row_number() over (partition by run_tag, category order by rating desc, model_id) as rank

    from rated

),

final as (

    select
        ranked.run_tag, ranked.category, ranked.model_id, ranked.rating, ranked.rank, ranked.games,
        round(ranked.rating - bradley_terry.rating, 9) as rating_change,
        bradley_terry.rank - ranked.rank as places_gained,
        ranked.is_separated

    from ranked
    inner join ratings.bradley_terry using (run_tag, model_id)

)

select * from final
