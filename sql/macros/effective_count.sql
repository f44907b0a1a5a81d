create macro effective_count(rate, n, clusters, standard_error, t_n, t_clusters) as
    case
        when clusters = n then n
        when clusters > 1 then
            n
            * least(1, coalesce(rate * (1 - rate) / nullif((n - 1) * pow(standard_error, 2), 0), 1))
            * pow(coalesce(t_n, macros.normal_95()) / coalesce(t_clusters, macros.normal_95()), 2)
    end
