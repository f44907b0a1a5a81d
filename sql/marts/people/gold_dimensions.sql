-- One row per run, format and dimension with gold verdicts, or `overall` for the whole debate.
with

-- Winners and labels are of two sides: four teams have none.
gold as (

    select
        run_tag, debate_id, format, dimension,
        case format when 'two_sided' then winner end as winner,
        case format when 'two_sided' then label end as label,
        clusters.cluster_id, clusters.cluster_unit

    from marts.truths
    inner join intermediate.int_clusters as clusters using (run_tag, debate_id)
    where truth = 'gold'

),

measured as (

    select
        gold.run_tag, gold.format, gold.dimension, gold.cluster_unit,
        count(*) as count_debates,
        count(case when gold.winner = 'pro' then 1 end) as count_pro,
        count(case when gold.winner = 'tie' then 1 end) as count_tie,
        count(case when gold.winner = 'con' then 1 end) as count_con,
        count(gold.label - wholes.label) as count_compared,
        rmse(list(gold.cluster_id), list(pow(gold.label - wholes.label, 2))) as rmse

    from gold

    left join gold as wholes
        on gold.run_tag = wholes.run_tag
        and gold.debate_id = wholes.debate_id
        and wholes.dimension = 'overall'

    group by gold.run_tag, gold.format, gold.dimension, gold.cluster_unit

),

half_widths as (

    select
        measured.*,
        macros.t_half_width(macros.jackknife_error(rmse.left_out, rmse.value), t_quantiles.t_95) as half_width

    from measured
    left join intermediate.int_t_quantiles as t_quantiles on len(measured.rmse.left_out) - 1 = t_quantiles.df

),

final as (

    select
        run_tag, format, dimension, count_debates,
        case format when 'two_sided' then count_pro end as count_pro,
        case format when 'two_sided' then count_tie end as count_tie,
        case format when 'two_sided' then count_con end as count_con,
        100 * rmse.value as rmse_to_overall,
        100 * macros.at_least(rmse.value - half_width, 0) as rmse_to_overall_ci_low,
        100 * macros.at_most(rmse.value + half_width, 1) as rmse_to_overall_ci_high,
        macros.reason_of(half_width is null, count_compared, rmse.value, len(rmse.left_out), cluster_unit)
            as rmse_to_overall_reason

    from half_widths

)

select * from final
