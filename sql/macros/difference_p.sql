create macro difference_p(difference, standard_error, clusters, clusters_above, clusters_below, is_exact) as
    case
        when difference is null then null
        when is_exact then macros.sign_test_p(clusters_above, clusters_below)
        when clusters < 2 then null
        when standard_error > 0 then macros.student_t_p(difference / standard_error, clusters - 1)
        else coalesce(macros.sign_test_p(clusters_above, clusters_below), 1)
    end
