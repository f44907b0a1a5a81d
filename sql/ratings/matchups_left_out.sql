-- One row per run, judge or category left out and ordered pair of debaters that still have a rated debate.
with

-- Rated debates that would have had another winner, or none, without the judge.
changed as (

    select
        verdicts.run_tag, verdicts.judge_id, games.pro_code, games.con_code, verdicts.panel_winner,
        verdicts.winner_without

    from intermediate.int_decided_verdicts as verdicts
    inner join marts.games using (run_tag, debate_id)
    where verdicts.winner_without <> verdicts.panel_winner

),

changes as (

    select
        run_tag, judge_id, pro_code, con_code,
        count(case when winner_without = 'pro' then 1 end) - count(case when panel_winner = 'pro' then 1 end)
            as pro_wins,
        count(case when winner_without = 'tie' then 1 end) - count(case when panel_winner = 'tie' then 1 end) as ties,
        count(case when winner_without = 'con' then 1 end) - count(case when panel_winner = 'con' then 1 end)
            as con_wins

    from changed
    group by run_tag, judge_id, pro_code, con_code

),

judges as (

    select distinct run_tag, judge_id from marts.judge_verdicts where is_valid

),

pairs as (

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

without_judge as (

    select
        run_tag,
        'judge' as kind,
        judge_id as left_out,
        pro_model_id, con_model_id, pro_code, con_code,
        cast(pairs.pro_wins + coalesce(changes.pro_wins, 0) as integer) as pro_wins,
        cast(pairs.ties + coalesce(changes.ties, 0) as integer) as ties,
        cast(pairs.con_wins + coalesce(changes.con_wins, 0) as integer) as con_wins

    from judges
    inner join pairs using (run_tag)
    left join changes using (run_tag, judge_id, pro_code, con_code)

),

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

without_category as (

    select
        categories.run_tag,
        'category' as kind,
        categories.category as left_out,
        categorised.pro_model_id, categorised.con_model_id, categorised.pro_code, categorised.con_code,
        cast(sum(categorised.pro_wins) as integer) as pro_wins,
        cast(sum(categorised.ties) as integer) as ties,
        cast(sum(categorised.con_wins) as integer) as con_wins

    from categories

    inner join categorised
        on categories.run_tag = categorised.run_tag
        and categories.category is distinct from categorised.category

    group by all

),

final as (

    select * from without_judge where pro_wins + ties + con_wins > 0
    union all
    select * from without_category

)

select * from final
