-- One row per person who judged a debate, or verdict that was agreed on it, and dimension, or `overall` for the whole.
with

verdicts as (

    select
        run_tag, debate_id,
        annotator_id as person_id,
        false as is_adjudicated,
        winner, scores

    from staging.stg_annotations
    where
        skip_reason is null and is_coherent is not false
        and (run_tag, debate_id) not in (
            select run_tag, debate_id from intermediate.int_agreed_verdicts where is_no_debate
        )

    union all

    select
        run_tag, debate_id,
        array_to_string(reviewers, ', ') as person_id,
        true as is_adjudicated,
        winner, scores

    from intermediate.int_agreed_verdicts
    where outcome = 'agreed'

),

totals as (

    select
        *,
        list_sum(list_transform(scores, lambda score: score.pro)) as pro_total,
        list_sum(list_transform(scores, lambda score: score.con)) as con_total

    from verdicts

),

scored as (

    select
        run_tag, debate_id, person_id, is_adjudicated,
        unnest(scores) as score

    from verdicts

),

final as (

    select
        run_tag, debate_id, person_id, is_adjudicated,
        'overall' as dimension,
        coalesce(winner, macros.higher_side(pro_total, con_total)) as winner,
        macros.higher_side(pro_total, con_total) as scored_winner,
        macros.weighted_mean(pro_total, len(scores)) as pro_score,
        macros.weighted_mean(con_total, len(scores)) as con_score

    from totals

    union all

    select
        run_tag, debate_id, person_id, is_adjudicated,
        score.dimension as dimension,
        macros.higher_side(score.pro, score.con) as winner,
        macros.higher_side(score.pro, score.con) as scored_winner,
        cast(score.pro as decimal(38, 12)) as pro_score,
        cast(score.con as decimal(38, 12)) as con_score

    from scored
    where score.dimension <> 'overall'

)

select * from final
