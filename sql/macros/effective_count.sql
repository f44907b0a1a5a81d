create macro effective_count(rate, n, standard_error, t_n, t_clusters) as
    least(n, coalesce(rate * (1 - rate) / nullif(pow(standard_error, 2), 0), n))
    * pow(coalesce(t_n, macros.normal_95()) / coalesce(t_clusters, macros.normal_95()), 2)
