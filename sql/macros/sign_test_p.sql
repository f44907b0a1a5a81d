-- Twice the probability of as few or fewer on the rarer side. The list of one has DuckDB compute an argument once, not for
-- each term.
create macro sign_test_p(wins, losses) as
    list_transform(
        [{'rarer': least(wins, losses), 'n': wins + losses}],
        lambda given:
            case
                when given.n > 0 then
                    least(
                        1,
                        2 * list_sum(
                            list_transform(
                                range(0, given.rarer + 1),
                                lambda k:
                                    exp(
                                        lgamma(given.n + 1) - lgamma(k + 1) - lgamma(given.n - k + 1) - given.n * ln(2)
                                    )
                            )
                        )
                    )
            end
    )[1]
