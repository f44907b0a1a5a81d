create macro elo_gap(win_rate) as
    case when win_rate > 0 and win_rate < 1 then 400 * log10(win_rate / (1 - win_rate)) end
