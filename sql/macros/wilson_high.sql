-- At a rate of 1, the result of the formula may be just below 1.
create macro wilson_high(wins, games) as
    macros.at_least(
        macros.at_most(
            macros.wilson_bound(
                cast(wins as double) / nullif(games, 0), pow(macros.normal_95(), 2) / nullif(games, 0), 1
            ),
            1
        ),
        cast(wins as double) / nullif(games, 0)
    )
