-- One row per debater and dimension: the mean over the debater's complete debates, both sides pooled.
with

scores as (

    select
        means.run_tag, means.dimension, means.source_position, means.dimension_position,
        case sides.side when 'pro' then means.pro_model_id else means.con_model_id end as model_id,
        case sides.side when 'pro' then means.pro_mean_score else means.con_mean_score end as mean_score

    from marts.debate_dimension_means as means
    cross join (values ('pro'), ('con')) as sides (side)

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
    where model_id is not null
    group by run_tag, model_id, dimension

)

select * from final
