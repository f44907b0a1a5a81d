-- Rounding moves a sum by less than the tolerance.
create macro clusters_above(clusters, neutral) as
    len(list_filter(clusters, lambda each: each.y - each.n * neutral > 0.000000000001))
