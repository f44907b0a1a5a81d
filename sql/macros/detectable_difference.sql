-- 0.841621 is the 80 % quantile of the normal distribution.
create macro detectable_difference(ci_low, ci_high, standard_error) as
    (ci_high - ci_low) / 2 + 0.841621 * standard_error
