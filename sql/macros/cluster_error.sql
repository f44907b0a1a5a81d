create macro cluster_error(squares, clusters, n) as
    case when clusters > 1 then sqrt(squares * clusters / (clusters - 1)) / n end
