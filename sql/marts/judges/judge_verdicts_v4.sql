-- One row per judge and debate: the side with the higher mean, or the declared winner where a verdict has no scores.
select
    run_tag, debate_id, judge_id, panel_position,
    case when is_valid then coalesce(macros.higher_side(pro_total, con_total), declared_winner) end as winner,
    winner is not null as is_valid,
    case when winner is not null then cast(pro_total as double) / count_dimensions end as pro_mean_score,
    case when winner is not null then cast(con_total as double) / count_dimensions end as con_mean_score

from intermediate.int_verdict_totals
