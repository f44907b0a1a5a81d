-- One row per category with a decided debate.
select
    topic_winrate.run_tag,
    coalesce(topics.category, 'uncategorized') as category,
    cast(sum(topic_winrate.pro_wins) as bigint) as pro_wins,
    cast(sum(topic_winrate.con_wins) as bigint) as con_wins,
    cast(sum(topic_winrate.ties) as bigint) as ties,
    cast(sum(topic_winrate.total) as bigint) as games

from original.topic_winrate
left join staging.stg_topics as topics using (run_tag, topic_id)
group by topic_winrate.run_tag, coalesce(topics.category, 'uncategorized')
