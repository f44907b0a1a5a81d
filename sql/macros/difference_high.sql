-- `abs`, because rounding could make a variance of 0 negative.
create macro difference_high(value, high, other, other_low, correlation) as
    value
    - other
    + sqrt(
        abs(
            power(high - value, 2)
            + power(other - other_low, 2)
            - 2 * correlation * (high - value) * (other - other_low)
        )
    )
