-- One row per verdict, with its exact totals over the dimensions.
select
    run_tag, debate_id, judge_id, panel_position, presented_first, is_valid, declared_winner,
    list_sum(list_transform(scores, lambda score: score.pro)) as pro_total,
    list_sum(list_transform(scores, lambda score: score.con)) as con_total,
    list_sum(list_transform(scores, lambda score: abs(score.pro - score.con))) as gap_total,
    len(scores) as count_dimensions

from intermediate.int_panel_verdicts
