create macro reason_of(is_missing, n, value, clusters, cluster_unit) as
    case
        when is_missing and coalesce(n, 0) = 0 then 'no_cases'
        when is_missing and value is null then 'undefined'
        when is_missing and clusters < 2 then 'one_cluster'
        when is_missing then 'no_variation'
        when cluster_unit = 'debate' then 'few_topics'
    end
