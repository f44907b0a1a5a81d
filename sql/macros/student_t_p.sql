-- The series of the regularised incomplete beta function: of the tail, or where the tail is large, of the rest. Both need
-- fewer terms than there are numbers in the range.
create macro student_t_p(t, df) as
    case
        when t = 0 and df > 0 then 1
        when t * t <= least(df, 20) then
            1 - list_sum(
                list_transform(
                    range(0, 120),
                    lambda n:
                        exp(
                            lgamma(0.5 * least(df, 1000) + 0.5 + n) - lgamma(0.5 * least(df, 1000)) - lgamma(1.5 + n)
                            - (0.5 + n) * ln(1 + least(df, 1000) / nullif(t * t, 0))
                            - 0.5 * least(df, 1000) * ln(1 + t * t / least(df, 1000))
                        )
                )
            )
        when df > 0 then
            list_sum(
                list_transform(
                    range(0, cast(60 + 2 * least(df, 1000) as bigint)),
                    lambda n:
                        exp(
                            lgamma(0.5 * least(df, 1000) + 0.5 + n) - lgamma(0.5 * least(df, 1000) + 1 + n)
                            - lgamma(0.5) - 0.5 * ln(1 + least(df, 1000) / nullif(t * t, 0))
                            - (0.5 * least(df, 1000) + n) * ln(1 + t * t / least(df, 1000))
                        )
                )
            )
    end
