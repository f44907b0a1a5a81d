-- Errors of 0 have no degrees of freedom of their own; then the fewer count.
create macro welch_df(error, df, other_error, other_df) as
    coalesce(
        cast(
            floor(
                round(
                    power(power(error, 2) + power(other_error, 2), 2)
                    / nullif(
                        coalesce(power(error, 4) / df, 0) + coalesce(power(other_error, 4) / other_df, 0), 0
                    ),
                    6
                )
            ) as bigint
        ),
        least(df, other_df)
    )
