-- One row per number of degrees of freedom from 1 to 1000.
with

final as (

    select
        df,
        t_interval(0, 1, df, 0.95).high as t_95,
        -- Beyond 60 degrees of freedom the sum is right to two thousandths.
        case
            when df <= 60 then detectable_effect(df + 1, 0.8, 0.05) * sqrt(df + 1)
            else t_interval(0, 1, df, 0.95).high + macros.normal_80()
        end as detectable_t

    from range(1, 1001) as numbers (df)

)

select * from final
