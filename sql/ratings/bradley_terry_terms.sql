-- One row per run and term of the Bradley–Terry model with controls: each debater, the pro side, and length.
with

sides as (

    select run_tag, pro_model_id as model_id, pro_code as code, is_simulated from marts.games
    union all
    select run_tag, con_model_id as model_id, con_code as code, is_simulated from marts.games

),

debaters as (

    select
        run_tag, model_id,
        any_value(code) as code,
        count(case when not is_simulated then 1 end) = 0 as is_simulated

    from sides
    group by run_tag, model_id

),

-- A thousand games per debater are enough to estimate the effects of side and length, so a large run is sampled.
sizes as (

    select
        run_tag,
        500 * count(*) as most_games

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

sampled_games as materialized (

    select games.*
    from marts.games
    inner join sizes using (run_tag)
    inner join game_counts using (run_tag)
    where macros.is_sampled(games.game_number, sizes.most_games, game_counts.count_games)

),

-- The text that judges read, in characters: tokens are not always known, and include reasoning that judges do not see.
-- Only the sampled debates are measured, which are few compared with all debates.
lengths as (

    select
        sampled_games.run_tag, sampled_games.debate_id,
        coalesce(sum(case when turns.side = 'pro' then length(turns.content) end), 0) as pro_characters,
        coalesce(sum(case when turns.side = 'con' then length(turns.content) end), 0) as con_characters

    from sampled_games
    inner join intermediate.int_debate_turns as turns using (run_tag, debate_id)
    where not sampled_games.is_forfeit
    group by sampled_games.run_tag, sampled_games.debate_id

),

measured_games as materialized (

    select
        sampled_games.run_tag,
        cast(
            dense_rank() over (partition by sampled_games.run_tag order by sampled_games.topic_id) as integer
        ) as topic_code,
        sampled_games.pro_code, sampled_games.con_code, sampled_games.pro_score, sampled_games.is_forfeit,
        cast(lengths.pro_characters - lengths.con_characters as double)
        / nullif(lengths.pro_characters + lengths.con_characters, 0) as length_difference

    from sampled_games
    left join lengths using (run_tag, debate_id)

),

-- If lengths are not known at all, the side's effect can still be estimated. No length wins or loses a forfeit.
usable_games as (

    select *
    from measured_games
    qualify length_difference is not null or is_forfeit or count(length_difference) over (partition by run_tag) = 0

),

fits as materialized (

    select
        usable_games.run_tag,
        bradley_terry_with_controls(
            list(usable_games.topic_code),
            list(usable_games.pro_code),
            list(usable_games.con_code),
            list(usable_games.pro_score),
            list(coalesce(usable_games.length_difference, 0)),
            any_value(runs.elo_initial_rating)
        ) as fit,
        count(*) as games

    from usable_games
    inner join staging.stg_runs as runs using (run_tag)
    group by usable_games.run_tag

),

terms as (

    select
        fits.run_tag,
        'debater' as term,
        debaters.code as number,
        debaters.model_id, debaters.is_simulated,
        fits.fit.debaters[debaters.code] as estimate,
        fits.fit, fits.games

    from fits
    inner join debaters using (run_tag)

    union all

    select
        run_tag,
        'pro_side' as term,
        0 as number,
        null as model_id,
        null as is_simulated,
        fit.pro_side as estimate,
        fit, games

    from fits

    union all

    select
        run_tag,
        'length' as term,
        0 as number,
        null as model_id,
        null as is_simulated,
        fit.length as estimate,
        fit, games

    from fits

),

final as (

    select
        run_tag, term, number, model_id,
        -- An effect is simulated if all games of the run are.
        coalesce(is_simulated, bool_and(is_simulated) over (partition by run_tag)) as is_simulated,
        estimate.value as value,
        estimate.ci_low as ci_low,
        estimate.ci_high as ci_high,
        macros.shared_rank(case when term = 'debater' then estimate.value end, run_tag) as rank,
        macros.reason_of(
            estimate.ci_low is null,
            games,
            estimate.value,
            null,
            case when fit.interval_method like '%_games' then 'debate' end
        ) as reason,
        games,
        case when term = 'length' then fit.length_sd end as length_sd,
        fit.interval_method as interval_method,
        fit.is_separated as is_separated

    from terms
    where term <> 'debater' or estimate is not null

)

select * from final
