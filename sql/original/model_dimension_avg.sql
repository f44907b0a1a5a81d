-- One row per debater and dimension: the mean over the debater's complete debates, both sides pooled.
with

dimension_means as materialized (

    select * from marts.debate_dimension_means

),

pro_scores as (

    select
        run_tag,
        pro_model_id as model_id,
        dimension,
        pro_mean_score as mean_score,
        source_position, dimension_position

    from dimension_means
    where pro_model_id is not null

),

con_scores as (

    select
        run_tag,
        con_model_id as model_id,
        dimension,
        con_mean_score as mean_score,
        source_position, dimension_position

    from dimension_means
    where con_model_id is not null

),

scores as (

    select * from pro_scores
    union all
    select * from con_scores

),

final as (

    select
        run_tag, model_id, dimension,
        -- Summed as decimals, because a sum of floats depends on the order of the rows.
        cast(sum(cast(mean_score as decimal(38, 12))) as double) / count(*) as mean_score,
        count(*) as samples,
        -- If the orders differ, that of the debater's first debate is used.
        arg_min(dimension_position, source_position) as dimension_position

    from scores
    group by run_tag, model_id, dimension

)

select * from final
