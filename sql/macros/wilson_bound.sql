-- `z2_n` is z² / n, and `direction` is -1 for the lower end and 1 for the upper end.
create macro wilson_bound(rate, z2_n, direction) as
    (rate + z2_n / 2 + direction * sqrt(z2_n * (rate * (1 - rate) + z2_n / 4))) / (1 + z2_n)
