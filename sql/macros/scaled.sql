-- n * largest becomes at most 10^12, so that n times a sum of squares, and the square of a sum, are at most 10^24: a
-- decimal(38, 12) holds a hundred times that. Smaller numbers keep their unit.
create macro scaled(x, n, largest) as
    cast(
        x * cast(
            power(
                10,
                -macros.at_least(
                    ceil(log10(macros.at_least(cast(n as double) * cast(largest as double), 1))) - 12, 0
                )
            ) as decimal(18, 12)
        ) as decimal(18, 6)
    )
