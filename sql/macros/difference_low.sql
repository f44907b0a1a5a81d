-- `abs`, because rounding could make a variance of 0 negative.
create macro difference_low(value, low, other, other_high, correlation) as
    value
    - other
    - sqrt(
        abs(
            power(value - low, 2)
            + power(other_high - other, 2)
            - 2 * correlation * (value - low) * (other_high - other)
        )
    )
