-- Squares are rounded before they are added, so that the sum does not depend on the order of rows. Where they are all 0,
-- the data do not show how the statistic varies.
create macro jackknife_error(value, whole) as
    case
        when count(*) > 1 and count(*) = count(value) then
            sqrt(
                nullif(cast(sum(cast(pow(value - whole, 2) as decimal(38, 24))) as double), 0)
                * (count(*) - 1) / count(*)
            )
    end
