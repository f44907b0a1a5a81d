-- Squares are rounded before they are added, so that the sum does not depend on the order of rows. No decimal holds both
-- the smallest squares and the largest, so there are two sums. Where all squares are 0, the data do not show how the
-- statistic varies.
create macro jackknife_error(value, whole) as
    case
        when count(*) > 1 and count(*) = count(value) then
            sqrt(
                nullif(
                    cast(
                        sum(
                            cast(case when abs(value - whole) < 1000 then pow(value - whole, 2) else 0 end as decimal(38, 24))
                        ) as double
                    )
                    + cast(
                        sum(
                            cast(case when abs(value - whole) < 1000 then 0 else pow(value - whole, 2) end as decimal(38, 9))
                        ) as double
                    ),
                    0
                )
                * (count(*) - 1) / count(*)
            )
    end
