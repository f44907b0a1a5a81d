-- One row per judge and debate: the winner that the judge declared.
with

winners as (

    select
        run_tag, debate_id, judge_id, panel_position,
        case when is_valid then declared_winner end as winner

    from intermediate.int_panel_verdicts

),

final as (

    select
        run_tag, debate_id, judge_id, panel_position, winner,
        winner is not null as is_valid

    from winners

)

select * from final
