-- One row per judge and debate: the side to which the judge gave the higher mean over the dimensions.
select
    run_tag, debate_id, judge_id, panel_position,
    case when is_valid then macros.higher_side(pro_total, con_total) end as winner,
    winner is not null as is_valid,
    case when winner is not null then cast(pro_total as double) / count_dimensions end as pro_mean_score,
    case when winner is not null then cast(con_total as double) / count_dimensions end as con_mean_score

from intermediate.int_verdict_totals
