-- One row per complete debate and dimension: how far pro's mean lies above con's.
select
    run_tag, debate_id, dimension,
    mean_pro - mean_con as gap,
    source_position,
    dimension_position

from marts.debate_dimension_means
