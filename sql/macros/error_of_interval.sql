create macro error_of_interval(ci_low, ci_high) as
    (ci_high - ci_low) / (2 * 1.959964)
