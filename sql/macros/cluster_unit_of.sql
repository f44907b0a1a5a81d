-- Two topics are not enough to estimate how topics differ.
create macro cluster_unit_of(count_topics) as
    case when count_topics >= 3 then 'topic' else 'debate' end
