create macro difference_low(value, low, other, other_high) as
    value - other - sqrt(power(value - low, 2) + power(other_high - other, 2))
