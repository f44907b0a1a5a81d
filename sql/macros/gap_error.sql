create macro gap_error(clusters, rate, other_rate) as
    macros.cluster_error(
        macros.sum_of_squares(
            list_transform(
                clusters,
                lambda each:
                    (each.y - each.n * rate) / list_sum(list_transform(clusters, lambda one: one.n))
                    - (each.other_y - each.other_n * other_rate)
                    / list_sum(list_transform(clusters, lambda one: one.other_n))
            )
        ),
        len(clusters),
        1
    )
