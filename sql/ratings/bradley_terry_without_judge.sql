-- One row per run, judge left out and debater that still has a rated debate.
with

rated_debates as (

    select
        games.run_tag, games.debate_id, games.pro_code, games.con_code, games.pro_score,
        panel_winners.count_pro - panel_winners.count_con as pro_lead,
        panel_winners.count_verdicts

    from marts.games
    inner join marts.panel_winners using (run_tag, debate_id)

    -- Where one side leads by more, no single verdict decides.
    where abs(panel_winners.count_pro - panel_winners.count_con) <= 1

),

-- The default rule: more verdicts for one side than for the other. Without a verdict left there is no winner.
reheard as (

    select
        judge_verdicts.run_tag, judge_verdicts.judge_id, rated_debates.pro_code, rated_debates.con_code,
        rated_debates.pro_score as score_before,
        case
            when rated_debates.count_verdicts > 1 then 0.5 + 0.5 * sign(
                rated_debates.pro_lead
                - case judge_verdicts.winner when 'pro' then 1 when 'con' then -1 else 0 end
            )
        end as score_after

    from marts.judge_verdicts
    inner join rated_debates using (run_tag, debate_id)
    where judge_verdicts.is_valid

),

changes as (

    select
        run_tag, judge_id, pro_code, con_code,
        count(case when score_after = 1 then 1 end) - count(case when score_before = 1 then 1 end) as pro_wins,
        count(case when score_after = 0.5 then 1 end) - count(case when score_before = 0.5 then 1 end) as ties,
        count(case when score_after = 0 then 1 end) - count(case when score_before = 0 then 1 end) as con_wins

    from reheard
    where score_after is distinct from score_before
    group by run_tag, judge_id, pro_code, con_code

),

judges as (

    select distinct run_tag, judge_id from marts.judge_verdicts where is_valid

),

pair_counts as (

    select
        run_tag, pro_code, con_code,
        any_value(pro_model_id) as pro_model_id,
        any_value(con_model_id) as con_model_id,
        sum(pro_wins) as pro_wins,
        sum(ties) as ties,
        sum(con_wins) as con_wins

    from ratings.matchups
    group by run_tag, pro_code, con_code

),

adjusted as (

    select
        judges.run_tag,
        judges.judge_id,
        pair_counts.pro_model_id,
        pair_counts.con_model_id,
        pair_counts.pro_code,
        pair_counts.con_code,
        cast(pair_counts.pro_wins + coalesce(changes.pro_wins, 0) as integer) as pro_wins,
        cast(pair_counts.ties + coalesce(changes.ties, 0) as integer) as ties,
        cast(pair_counts.con_wins + coalesce(changes.con_wins, 0) as integer) as con_wins

    from judges
    inner join pair_counts using (run_tag)
    left join changes using (run_tag, judge_id, pro_code, con_code)

),

kept as materialized (

    select * from adjusted where pro_wins + ties + con_wins > 0

),

fits as materialized (

    select
        kept.run_tag, kept.judge_id,
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
    group by kept.run_tag, kept.judge_id

),

sides as (

    select
        run_tag, judge_id,
        pro_model_id as model_id,
        pro_code as code,
        pro_wins + ties + con_wins as games

    from kept

    union all

    select
        run_tag, judge_id,
        con_model_id as model_id,
        con_code as code,
        pro_wins + ties + con_wins as games

    from kept

),

debaters as (

    select
        run_tag, judge_id, model_id,
        any_value(code) as code,
        cast(sum(games) as bigint) as games

    from sides
    group by run_tag, judge_id, model_id

),

rated as (

    select
        debaters.run_tag, debaters.judge_id, debaters.model_id, debaters.games,
        fits.fit.rating[debaters.code] as rating,
        list_max(fits.fit.component) > 1 as is_separated

    from debaters
    inner join fits using (run_tag, judge_id)

),

ranked as (

    select
        *,
        row_number() over (partition by run_tag, judge_id order by rating desc, model_id) as rank

    from rated

),

final as (

    select
        ranked.run_tag, ranked.judge_id, ranked.model_id, ranked.rating, ranked.rank, ranked.games,
        round(ranked.rating - bradley_terry.rating, 9) as rating_change,
        bradley_terry.rank - ranked.rank as places_gained,
        ranked.is_separated

    from ranked
    inner join ratings.bradley_terry using (run_tag, model_id)

)

select * from final
