create macro cluster_of(topic_id, debate_id, cluster_unit) as
    case cluster_unit when 'topic' then topic_id when 'debate' then debate_id end
