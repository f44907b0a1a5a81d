-- One row per debater of a run, ranked by rating; a debater without a rated debate has no rating and no rank.
with

debate_means as materialized (

    select * from intermediate.int_debate_means where trial = 1

),

-- Debates of four teams rate the debaters that have no rated debate of two sides.
four_teams as (

    select plackett_luce.*
    from ratings.plackett_luce
    left join ratings.bradley_terry using (run_tag, model_id)
    where bradley_terry.run_tag is null

),

elo_ranks as (

    select
        run_tag, model_id,
        macros.shared_rank(rating, run_tag) as rank

    from ratings.elo

),

side_points as (

    select
        run_tag, model_id, side, is_forfeit,
        case result when 'win' then 1.0 when 'tie' then 0.5 else 0.0 end as points

    from marts.debate_results
    where is_rated

),

side_results as (

    select
        run_tag, model_id,
        cast(sum(case when side = 'pro' then points end) as double)
        / count(case when side = 'pro' then points end) as pro_win_rate,
        cast(sum(case when side = 'con' then points end) as double)
        / count(case when side = 'con' then points end) as con_win_rate,
        count(case when is_forfeit and points = 0 then 1 end) as count_forfeits

    from side_points
    group by run_tag, model_id

),

side_scores as (

    select
        run_tag,
        pro_model_id as model_id,
        pro_mean_score as mean_score

    from debate_means

    union all

    select
        run_tag,
        con_model_id as model_id,
        con_mean_score as mean_score

    from debate_means

),

mean_scores as (

    select
        run_tag, model_id,
        -- Summed as decimals, because a sum of floats depends on the order of the rows.
        round(cast(sum(cast(mean_score as decimal(38, 12))) as double) / count(*), 9) as mean_score

    from side_scores
    where model_id is not null
    group by run_tag, model_id

),

turn_times as (

    select
        run_tag, model_id,
        round(sum(mean_duration_ms * count_timed) / sum(count_timed), 3) as mean_turn_duration_ms

    from intermediate.int_turn_means
    where count_timed > 0
    group by run_tag, model_id

),

truncated_turns as (

    select
        run_tag, model_id,
        count(*) as count_truncated_turns

    from staging.stg_turns
    where is_truncated
    group by run_tag, model_id

),

final as (

    select
        debaters.run_tag, coalesce(bradley_terry.rank, four_teams.rank) as rank,
        coalesce(bradley_terry.rank_low, four_teams.rank_low) as rank_low,
        coalesce(bradley_terry.rank_high, four_teams.rank_high) as rank_high,
        debaters.model_id,
        coalesce(bradley_terry.is_simulated, four_teams.is_simulated, debaters.is_simulated) as is_simulated,
        coalesce(bradley_terry.rating, four_teams.rating) as rating,
        coalesce(bradley_terry.ci_low, four_teams.ci_low) as ci_low,
        coalesce(bradley_terry.ci_high, four_teams.ci_high) as ci_high,
        case
            when coalesce(bradley_terry.ci_low, four_teams.ci_low) is null then 'no_cases'
            when coalesce(bradley_terry.interval_method, four_teams.interval_method) like '%_games' then 'few_topics'
        end as reason,
        elo_ranks.rank as elo_rank,
        elo.rating as elo_rating,
        coalesce(elo.games, four_teams.games, 0) as games,
        coalesce(elo.wins, four_teams.wins, 0) as wins,
        coalesce(elo.losses, four_teams.losses, 0) as losses,
        coalesce(elo.ties, four_teams.ties, 0) as ties,
        coalesce(side_results.count_forfeits, 0) as count_forfeits,
        coalesce((elo.wins + 0.5 * elo.ties) / elo.games, four_teams.first_rate) as win_rate,
        side_results.pro_win_rate, side_results.con_win_rate,
        coalesce(mean_scores.mean_score, four_teams.mean_score) as mean_score,
        turn_times.mean_turn_duration_ms, debater_costs.count_turns,
        coalesce(truncated_turns.count_truncated_turns, 0) as count_truncated_turns,
        debater_costs.total_tokens, debater_costs.cost_usd, debater_costs.count_unpriced,
        coalesce(coalesce(elo.games, four_teams.games) >= runs.min_games_for_display, false) as is_displayed,
        case
            when bradley_terry.run_tag is not null then 'two_sided'
            when four_teams.run_tag is not null then 'british_parliamentary'
        end as format,
        four_teams.mean_points

    from staging.stg_debaters as debaters
    inner join staging.stg_runs as runs using (run_tag)
    left join ratings.bradley_terry using (run_tag, model_id)
    left join four_teams using (run_tag, model_id)
    left join ratings.elo using (run_tag, model_id)
    left join elo_ranks using (run_tag, model_id)
    left join side_results using (run_tag, model_id)
    left join mean_scores using (run_tag, model_id)
    left join turn_times using (run_tag, model_id)
    left join truncated_turns using (run_tag, model_id)
    left join marts.debater_costs using (run_tag, model_id)

)

select * from final
order by run_tag, format desc, rank, model_id
