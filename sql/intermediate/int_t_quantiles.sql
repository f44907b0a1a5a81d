-- One row per number of degrees of freedom from 1 to 1000.
with

final as (

    select
        df,
        t_interval(0, 1, df, 0.95).high as t_95

    from range(1, 1001) as numbers (df)

)

select * from final
