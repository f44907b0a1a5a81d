-- One row per verdict of a judge with a vote: all verdicts except those of baselines.
with

baselines as (

    select run_tag, judge_id from staging.stg_judges where is_baseline

),

final as (

    select
        verdicts.run_tag, verdicts.debate_id, verdicts.judge_id, verdicts.panel_position,
        verdicts.presented_first, verdicts.is_valid,
        verdicts.declared_winner, verdicts.scores

    from staging.stg_verdicts as verdicts

    left join baselines
        on verdicts.run_tag = baselines.run_tag
        and verdicts.judge_id = baselines.judge_id

    where baselines.judge_id is null

)

select * from final
