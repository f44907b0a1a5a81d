create macro difference_high(value, high, other, other_low) as
    value - other + sqrt(power(high - value, 2) + power(other - other_low, 2))
