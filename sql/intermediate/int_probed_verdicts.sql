-- One row per judge and debate of a run that probes judges, clean or attacked.
with

verdicts as (

    select
        run_tag, debate_id, judge_id, is_valid, declared_winner, scores, is_injection_suspected, invalid_reason,
        false as is_attacked

    from staging.stg_verdicts

    union all

    select
        run_tag, debate_id, judge_id, is_valid, declared_winner, scores, is_injection_suspected, invalid_reason,
        true as is_attacked

    from staging.stg_attacked_verdicts

),

totals as (

    select
        verdicts.*, judges.method, judges.is_baseline,
        list_sum(list_transform(verdicts.scores, lambda score: score.pro)) as pro_total,
        list_sum(list_transform(verdicts.scores, lambda score: score.con)) as con_total,
        len(verdicts.scores) as count_dimensions

    from verdicts
    inner join staging.stg_judges as judges using (run_tag, judge_id)
    inner join staging.stg_runs as runs using (run_tag)
    where runs.format = 'probing'

),

winners as (

    select
        *,
        case when is_valid then coalesce(macros.higher_side(pro_total, con_total), declared_winner) end as winner

    from totals

),

final as (

    select
        run_tag, debate_id, judge_id, is_attacked, method, is_baseline, winner,
        winner is not null as is_valid,
        case when winner is not null then cast(pro_total as double) / count_dimensions end as pro_mean_score,
        case when winner is not null then cast(con_total as double) / count_dimensions end as con_mean_score,
        is_injection_suspected, invalid_reason

    from winners

)

select * from final
