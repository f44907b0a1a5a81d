-- Two topics are not enough to estimate how topics differ.
create macro cluster_of(topic_id, debate_id, count_topics) as
    case when count_topics >= 3 then topic_id else debate_id end
