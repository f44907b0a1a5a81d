-- Twice the probability of as few or fewer on the rarer side.
create macro sign_test_p(wins, losses) as
    case
        when wins + losses > 0 then
            least(
                1,
                2 * list_sum(
                    list_transform(
                        range(0, least(wins, losses) + 1),
                        lambda k:
                            exp(
                                lgamma(wins + losses + 1) - lgamma(k + 1) - lgamma(wins + losses - k + 1)
                                - (wins + losses) * ln(2)
                            )
                    )
                )
            )
    end
