-- Rounded first, so that 10 / (1 - 0.9) is 100 and not 101.
create macro debates_needed(games, tie_rate, design_effect) as
    cast(ceil(round(games * design_effect / nullif(1 - tie_rate, 0), 6)) as bigint)
