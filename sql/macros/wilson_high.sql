-- The upper end for wins is as far from 1 as the lower end for games that are not won is from 0.
create macro wilson_high(wins, games) as
    1 - macros.wilson_bound(
        cast(games - wins as double) / nullif(games, 0), pow(macros.normal_95(), 2) / nullif(games, 0)
    )
