-- One row per judge and debate: the side to which the judge gave the higher mean over the dimensions.
with

winners as (

    select
        run_tag, debate_id, judge_id, panel_position,
        case when is_valid then macros.higher_side(pro_total, con_total) end as winner,
        cast(pro_total as double) / count_dimensions as pro_mean_score,
        cast(con_total as double) / count_dimensions as con_mean_score

    from intermediate.int_verdict_totals

),

final as (

    select
        run_tag, debate_id, judge_id, panel_position, winner,
        winner is not null as is_valid,
        case when winner is not null then pro_mean_score end as pro_mean_score,
        case when winner is not null then con_mean_score end as con_mean_score

    from winners

)

select * from final
