-- At a rate of 0, the result of the formula may be just above 0.
create macro wilson_low(wins, games) as
    macros.at_most(
        macros.at_least(
            macros.wilson_bound(
                cast(wins as double) / nullif(games, 0), pow(macros.normal_95(), 2) / nullif(games, 0), -1
            ),
            0
        ),
        cast(wins as double) / nullif(games, 0)
    )
