create macro wilson_low(wins, games) as
    macros.wilson_bound(cast(wins as double) / nullif(games, 0), pow(macros.normal_95(), 2) / nullif(games, 0))
