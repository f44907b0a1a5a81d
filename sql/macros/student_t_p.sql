-- The series of the regularised incomplete beta function: of the tail, or where the tail is large, of the rest. Both need
-- fewer terms than there are numbers in the range. The list of one has DuckDB compute an argument once, not for each term.
create macro student_t_p(t, df) as
    list_transform(
        [{'square': t * t, 'df': least(df, 1000)}],
        lambda given:
            case
                when given.square = 0 and given.df > 0 then 1
                when given.square <= least(given.df, 20) then
                    1 - list_sum(
                        list_transform(
                            range(0, 120),
                            lambda n:
                                exp(
                                    lgamma(0.5 * given.df + 0.5 + n) - lgamma(0.5 * given.df) - lgamma(1.5 + n)
                                    - (0.5 + n) * ln(1 + given.df / nullif(given.square, 0))
                                    - 0.5 * given.df * ln(1 + given.square / given.df)
                                )
                        )
                    )
                when given.df > 0 then
                    list_sum(
                        list_transform(
                            range(0, cast(60 + 2 * given.df as bigint)),
                            lambda n:
                                exp(
                                    lgamma(0.5 * given.df + 0.5 + n) - lgamma(0.5 * given.df + 1 + n)
                                    - lgamma(0.5) - 0.5 * ln(1 + given.df / nullif(given.square, 0))
                                    - (0.5 * given.df + n) * ln(1 + given.square / given.df)
                                )
                        )
                    )
            end
    )[1]
