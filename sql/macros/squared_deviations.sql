-- From the mean rounded to nine decimals; what the rounding adds is subtracted. Nothing is much larger than the sum yy,
-- while n times yy does not fit into 38 digits if there are a hundred million observations.
create macro squared_deviations(n, y, yy) as
    greatest(
        0,
        cast(
            yy - (2 * y - n * cast(y / nullif(n, 0) as decimal(18, 9))) * cast(y / nullif(n, 0) as decimal(18, 9))
            as double
        )
        - power(cast(y - n * cast(y / nullif(n, 0) as decimal(18, 9)) as double), 2) / nullif(n, 0)
    )
