-- One row per judge and debate: the winner that the judge declared.
select
    run_tag, debate_id, judge_id, panel_position,
    case when is_valid then declared_winner end as winner,
    winner is not null as is_valid

from intermediate.int_panel_verdicts
