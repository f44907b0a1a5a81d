create macro mean_error(clusters, mean) as
    macros.cluster_error(
        macros.sum_of_squares(list_transform(clusters, lambda each: each.y - each.n * mean)),
        len(list_filter(clusters, lambda each: each.n > 0)),
        list_sum(list_transform(clusters, lambda each: each.n))
    )
