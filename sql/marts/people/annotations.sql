-- One row per annotator and debate: a human's verdict.
with

totals as (

    select
        *,
        list_sum(list_transform(scores, lambda score: score.pro)) as pro_total,
        list_sum(list_transform(scores, lambda score: score.con)) as con_total,
        len(scores) as count_dimensions

    from staging.stg_annotations

),

final as (

    select
        run_tag, debate_id, annotator_id, winner,
        macros.higher_side(pro_total, con_total) as scored_winner,
        cast(pro_total as double) / count_dimensions as pro_mean_score,
        cast(con_total as double) / count_dimensions as con_mean_score,
        list_sort(
            list_transform(list_filter(ranks, lambda each: each.rank = 1), lambda each: each.team)
        ) as winning_positions,
        ranks, team_scores,
        confidence, is_coherent, skip_reason, justification,
        source, annotated_at

    from totals

)

select * from final
