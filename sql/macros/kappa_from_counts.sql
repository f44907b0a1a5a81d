-- The observed distances summed over items, times the number of items, over the distances expected by chance.
create macro kappa_from_counts(n, agree, opposed, pro_a, con_a, pro_b, con_b, extra) as
    1 - cast(n * (n - agree + extra * opposed) as double)
    / nullif(
        n * n - pro_a * pro_b - con_a * con_b - (n - pro_a - con_a) * (n - pro_b - con_b)
        + extra * (pro_a * con_b + con_a * pro_b),
        0
    )
