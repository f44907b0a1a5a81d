-- One row per run, format and dimension with gold verdicts, or `overall` for the whole debate.
with

measured as (

    select
        gold.run_tag, gold.format, gold.dimension,
        count(*) as count_debates,
        count(case when gold.winner = 'pro' then 1 end) as count_pro,
        count(case when gold.winner = 'tie' then 1 end) as count_tie,
        count(case when gold.winner = 'con' then 1 end) as count_con,
        rmse_interval(list(gold.debate_id), list(pow(gold.label - wholes.label, 2))) as rmse

    from marts.truths as gold

    left join marts.truths as wholes
        on gold.run_tag = wholes.run_tag
        and gold.debate_id = wholes.debate_id
        and wholes.truth = 'gold'
        and wholes.dimension = 'overall'

    where gold.truth = 'gold'
    group by gold.run_tag, gold.format, gold.dimension

),

final as (

    select
        run_tag, format, dimension, count_debates, count_pro, count_tie, count_con,
        100 * rmse.value as rmse_to_overall,
        100 * rmse.ci_low as rmse_to_overall_ci_low,
        100 * rmse.ci_high as rmse_to_overall_ci_high

    from measured

)

select * from final
