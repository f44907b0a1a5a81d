-- One row per complete debate and dimension: pro's mean score minus con's.
select
    run_tag, debate_id, dimension,
    pro_mean_score - con_mean_score as gap,
    source_position, dimension_position

from marts.debate_dimension_means
