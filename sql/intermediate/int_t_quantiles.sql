-- One row per number of degrees of freedom from 1 to 1000.
with

-- Where degrees of freedom are few, the series below converges slowly.
few as (

    select
        generate_subscripts(quantiles, 1) as df,
        cast(unnest(quantiles) as double) as t_95

    from (
        select
            [12.706204736, 4.302652730, 3.182446305, 2.776445105, 2.570581836, 2.446911851,
            2.364624252, 2.306004135, 2.262157163, 2.228138852, 2.200985160, 2.178812830,
            2.160368656, 2.144786688, 2.131449546, 2.119905299, 2.109815578, 2.100922040,
            2.093024054, 2.085963447, 2.079613845, 2.073873068, 2.068657610, 2.063898562,
            2.059538553, 2.055529439, 2.051830516, 2.048407142, 2.045229642, 2.042272456] as quantiles
    ) as listed

),

many as (

    select
        unnest(range(31, 1001)) as df,
        cast(1.959963984540054 as double) as z

),

-- Abramowitz and Stegun, Handbook of Mathematical Functions, 26.7.5: the t quantile from the normal one.
expanded as (

    select
        df,
        z
        + (pow(z, 3) + z) / 4 / df
        + (5 * pow(z, 5) + 16 * pow(z, 3) + 3 * z) / 96 / pow(df, 2)
        + (3 * pow(z, 7) + 19 * pow(z, 5) + 17 * pow(z, 3) - 15 * z) / 384 / pow(df, 3)
        + (79 * pow(z, 9) + 776 * pow(z, 7) + 1482 * pow(z, 5) - 1920 * pow(z, 3) - 945 * z) / 92160 / pow(df, 4)
            as t_95

    from many

),

final as (

    select * from few
    union all
    select * from expanded

)

select * from final
