-- One row per debater and category with a rated debate.
with

results as (

    select
        debate_results.run_tag, debate_results.model_id,
        coalesce(topics.category, 'uncategorized') as category,
        debate_results.result

    from marts.debate_results
    left join staging.stg_topics as topics using (run_tag, topic_id)
    where debate_results.is_rated

),

counts as (

    select
        run_tag, model_id, category,
        count(case when result = 'win' then 1 end) as wins,
        count(case when result = 'loss' then 1 end) as losses,
        count(case when result = 'tie' then 1 end) as ties,
        count(*) as games

    from results
    group by run_tag, model_id, category

),

final as (

    select
        run_tag, model_id, category, wins, losses, ties, games,
        (wins + 0.5 * ties) / games as win_rate

    from counts

)

select * from final
