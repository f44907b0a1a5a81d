-- One row per run and term of the Bradley–Terry model with controls: each debater, the pro side, and length.
with

debaters as (

    select
        run_tag,
        pro_model_id as model_id,
        pro_code as code

    from marts.games

    union

    select
        run_tag,
        con_model_id as model_id,
        con_code as code

    from marts.games

),

sizes as (

    select
        run_tag,
        count(*) as count_debaters

    from debaters
    group by run_tag

),

game_counts as (

    select
        run_tag,
        count(*) as count_games

    from marts.games
    group by run_tag

),

-- A thousand games per debater tell what side and length are worth, so a large run lends no more. The number is spread
-- evenly over 0 to 4294967295 and follows from the game's place alone.
sampled_games as materialized (

    select games.*
    from marts.games
    inner join sizes using (run_tag)
    inner join game_counts using (run_tag)

    where
        game_counts.count_games <= 500 * sizes.count_debaters
        or games.game_number * 2654435761 % 4294967296
        < 4294967296 * (500 * sizes.count_debaters) / game_counts.count_games

),

-- What judges read, in characters: tokens are not known everywhere, and count thoughts that no judge sees. Only the
-- sampled debates are measured, which are few beside all.
lengths as (

    select
        sampled_games.run_tag, sampled_games.debate_id,
        coalesce(sum(case when turns.side = 'pro' then length(turns.content) end), 0) as pro_characters,
        coalesce(sum(case when turns.side = 'con' then length(turns.content) end), 0) as con_characters

    from sampled_games
    inner join staging.stg_turns as turns using (run_tag, debate_id)
    group by sampled_games.run_tag, sampled_games.debate_id

),

measured_games as materialized (

    select
        sampled_games.run_tag,
        cast(
            dense_rank() over (partition by sampled_games.run_tag order by sampled_games.topic_id) as integer
        ) as topic_code,
        sampled_games.pro_code,
        sampled_games.con_code,
        sampled_games.pro_score,
        cast(lengths.pro_characters - lengths.con_characters as double)
        / nullif(lengths.pro_characters + lengths.con_characters, 0) as length_difference

    from sampled_games
    left join lengths using (run_tag, debate_id)

),

measured_runs as (

    select
        run_tag,
        count(length_difference) as count_measured

    from measured_games
    group by run_tag

),

-- Where no length is known at all, the side's effect still is.
usable_games as (

    select
        measured_games.run_tag,
        measured_games.topic_code,
        measured_games.pro_code,
        measured_games.con_code,
        measured_games.pro_score,
        coalesce(measured_games.length_difference, 0) as length_difference

    from measured_games
    inner join measured_runs using (run_tag)
    where measured_games.length_difference is not null or measured_runs.count_measured = 0

),

fits as materialized (

    select
        usable_games.run_tag,
        bradley_terry_with_controls(
            list(usable_games.topic_code),
            list(usable_games.pro_code),
            list(usable_games.con_code),
            list(usable_games.pro_score),
            list(usable_games.length_difference),
            any_value(runs.elo_initial_rating)
        ) as fit,
        count(*) as count_games

    from usable_games
    inner join staging.stg_runs as runs using (run_tag)
    group by usable_games.run_tag

),

debater_terms as (

    select
        fits.run_tag,
        'debater' as term,
        debaters.code as number,
        debaters.model_id,
        fits.fit.debaters[debaters.code] as estimate,
        fits.fit,
        fits.count_games

    from fits
    inner join debaters using (run_tag)

),

side_terms as (

    select
        run_tag,
        'pro_side' as term,
        0 as number,
        cast(null as varchar) as model_id,
        fit.pro_side as estimate,
        fit,
        count_games

    from fits

),

length_terms as (

    select
        run_tag,
        'length' as term,
        0 as number,
        cast(null as varchar) as model_id,
        fit.length as estimate,
        fit,
        count_games

    from fits

),

terms as (

    select * from debater_terms
    union all
    select * from side_terms
    union all
    select * from length_terms

),

final as (

    select
        run_tag, term, number, model_id,
        estimate.value as value,
        estimate.ci_low as ci_low,
        estimate.ci_high as ci_high,
        count_games,
        case when term = 'length' then fit.length_sd end as length_sd,
        fit.interval_method as interval_method,
        fit.is_separated as is_separated

    from terms
    where term <> 'debater' or estimate is not null

)

select * from final
