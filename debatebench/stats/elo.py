"""Elo ratings in order of play.

A game between pro and con moves both ratings at once, from their values before the game:

    expected = 1 / (1 + 10 ** ((r_con - r_pro) / 400))
    r_pro   += k * (score - expected)
    r_con   -= k * (score - expected)

where `score` is 1 when pro won, 0.5 for a tie and 0 when con won (A. Elo, The Rating of Chessplayers, 1978). What one
debater gains the other loses, so the sum of all ratings never changes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import isfinite
from operator import eq


@dataclass(frozen=True, slots=True)
class EloPath:
    """Both ratings before every game, and what pro gained and con lost in it: three lists in the order of the games."""

    pro_before: list[float]
    con_before: list[float]
    pro_gain: list[float]


def elo_ratings(
    pro: Sequence[int],
    con: Sequence[int],
    score: Sequence[float],
    *,
    initial: float = 400.0,
    k: float = 32.0,
    players: int | None = None,
) -> list[float]:
    """Ratings after all games; element i - 1 belongs to the debater with code i.

    `pro`, `con` and `score` hold one element per game, in order of play; codes run from 1 to `players` (by default the
    highest that occurs). A debater without a game keeps `initial`. Raises `ValueError` when the lengths differ, a code
    is out of range, a game has the same debater on both sides, a score is outside [0, 1], `initial` is not finite, or
    `k` is not a finite number of at least 0.
    """
    check_settings(initial, k)
    ratings = _start(pro, con, score, initial, players)
    for p, c, s in zip(pro, con, score, strict=True):
        pro_before, con_before = ratings[p], ratings[c]
        change = k * (s - 1.0 / (1.0 + 10.0 ** ((con_before - pro_before) / 400.0)))
        ratings[p] = pro_before + change
        ratings[c] = con_before - change
    return ratings[1:]


def elo_path(
    pro: Sequence[int],
    con: Sequence[int],
    score: Sequence[float],
    *,
    initial: float = 400.0,
    k: float = 32.0,
    players: int | None = None,
) -> EloPath:
    """Both debaters' ratings before every game and what changed in it; arguments and errors as in `elo_ratings`."""
    check_settings(initial, k)
    ratings = _start(pro, con, score, initial, players)
    path = EloPath([], [], [])
    add_pro, add_con, add_gain = path.pro_before.append, path.con_before.append, path.pro_gain.append
    for p, c, s in zip(pro, con, score, strict=True):
        pro_before, con_before = ratings[p], ratings[c]
        change = k * (s - 1.0 / (1.0 + 10.0 ** ((con_before - pro_before) / 400.0)))
        ratings[p] = pro_before + change
        ratings[c] = con_before - change
        add_pro(pro_before)
        add_con(con_before)
        add_gain(change)
    return path


def check_settings(initial: float, k: float) -> None:
    """Raise `ValueError` for settings that give no ratings."""
    if not isfinite(initial):
        raise ValueError(f"the initial rating must be a finite number, not {initial}")
    if not (isfinite(k) and k >= 0):
        raise ValueError(f"k must be a finite number of at least 0, not {k}")


def _start(
    pro: Sequence[int], con: Sequence[int], score: Sequence[float], initial: float, players: int | None
) -> list[float]:
    """Every debater at `initial`; element 0 is unused, so that codes are indexes."""
    if not len(pro) == len(con) == len(score):
        raise ValueError(f"lengths differ: {len(pro)} pro, {len(con)} con, {len(score)} scores")
    codes = {*pro, *con}
    highest, lowest = max(codes, default=0), min(codes, default=1)
    count = highest if players is None else players
    if lowest < 1 or highest > count:
        raise ValueError(f"codes run from 1 to {count}, but {lowest if lowest < 1 else highest} occurs")
    if any(map(eq, pro, con)):
        raise ValueError("a debater cannot play against itself")
    if not all(0.0 <= s <= 1.0 for s in set(score)):
        raise ValueError("scores must be from 0 (con won) to 1 (pro won)")
    return [initial] * (count + 1)
