-- `z2_n` is z² / n. Multiplied out, so that nothing is subtracted: the result is exactly 0 at a rate of 0, and never
-- above the rate.
create macro wilson_bound(rate, z2_n) as
    rate * rate / (rate + z2_n / 2 + sqrt(z2_n * (rate * (1 - rate) + z2_n / 4)))
