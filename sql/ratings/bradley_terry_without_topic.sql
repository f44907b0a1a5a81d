-- One row per run, topic and debater with a rated debate: its rating without the debates on this topic.
with

sides as (

    select run_tag, topic_id, topic_code, pro_model_id as model_id, pro_code as code from ratings.matchups
    union all
    select run_tag, topic_id, topic_code, con_model_id as model_id, con_code as code from ratings.matchups

),

topics as (

    select run_tag, topic_id, any_value(topic_code) as topic_code
    from sides
    group by run_tag, topic_id

),

debaters as (

    select run_tag, model_id, any_value(code) as code
    from sides
    group by run_tag, model_id

),

-- With more topics, leaving one out changes next to nothing, and takes as many fits.
fits as materialized (

    select
        matchups.run_tag,
        bradley_terry_without_topics(
            list(matchups.topic_code),
            list(matchups.pro_code),
            list(matchups.con_code),
            list(matchups.pro_wins),
            list(matchups.ties),
            list(matchups.con_wins),
            any_value(runs.elo_initial_rating)
        ) as ratings

    from ratings.matchups
    inner join staging.stg_runs as runs using (run_tag)
    group by matchups.run_tag
    having max(matchups.topic_code) between 3 and 1000

),

final as (

    select
        topics.run_tag, topics.topic_id, debaters.model_id, bradley_terry.is_simulated,
        fits.ratings[topics.topic_code][debaters.code] as rating

    from topics
    inner join debaters using (run_tag)
    inner join ratings.bradley_terry using (run_tag, model_id)
    inner join fits using (run_tag)

)

select * from final
