create macro clusters_below(clusters, neutral) as
    len(list_filter(clusters, lambda each: each.n * neutral - each.y > 0.000000000001))
