"""Games counted by topic and by who met: what Bradley–Terry ratings are made of."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]


@dataclass(frozen=True, slots=True)
class Games:
    """Games counted by topic and by who met: arrays of whole numbers of one length.

    `topic`, `pro` and `con` are codes from 0, the debaters' below `count_debaters`.
    """

    topic: Array
    pro: Array
    con: Array
    pro_wins: Array
    ties: Array
    con_wins: Array
    count_debaters: int

    @property
    def count(self) -> Array:
        """Games per row."""
        return self.pro_wins + self.ties + self.con_wins

    @property
    def points(self) -> Array:
        """Pro's points per row: its wins and half of the ties."""
        return self.pro_wins + 0.5 * self.ties


@dataclass(frozen=True, slots=True)
class Pairs:
    """Who met whom: codes `first` < `second`, one element per pair of debaters with a game."""

    first: Array
    second: Array
    count_debaters: int


def counted_games(
    topic: Sequence[int] | Array,
    pro: Sequence[int] | Array,
    con: Sequence[int] | Array,
    pro_wins: Sequence[int],
    ties: Sequence[int],
    con_wins: Sequence[int],
) -> Games:
    """Lists of one length with codes from 1 → `Games`; the debaters run to the highest code that occurs.

    Rows may repeat and come in any order. Raises `ValueError` when lengths differ, a code is below 1, a number of games
    is negative, or a debater meets itself.
    """
    codes = [np.asarray(values, dtype=np.int64) for values in (topic, pro, con)]
    counts = [np.asarray(values, dtype=np.int64) for values in (pro_wins, ties, con_wins)]
    if len({len(column) for column in (*codes, *counts)}) > 1:
        raise ValueError(f"lengths differ: {', '.join(str(len(column)) for column in (*codes, *counts))}")
    if any(column.min(initial=1) < 1 for column in codes):
        raise ValueError("codes run from 1")
    if any(column.min(initial=0) < 0 for column in counts):
        raise ValueError("a number of games cannot be negative")
    if (codes[1] == codes[2]).any():
        raise ValueError("a debater cannot play against itself")
    return Games(
        topic=codes[0] - 1,
        pro=codes[1] - 1,
        con=codes[2] - 1,
        pro_wins=counts[0],
        ties=counts[1],
        con_wins=counts[2],
        count_debaters=max(int(column.max(initial=0)) for column in codes[1:]),
    )


def pair_counts(games: Games, unit: Array | None = None) -> tuple[Pairs, Array, Array]:
    """The pairs that met, with games and points of `first` by unit: arrays of shape (units, pairs).

    `unit` is each row's code from 0, by default one unit for all. Sums of halves are exact, so the order of rows is
    nothing.
    """
    n = games.count_debaters
    is_swapped = games.pro > games.con
    first, second = np.minimum(games.pro, games.con), np.maximum(games.pro, games.con)
    codes, pair = np.unique(first * n + second, return_inverse=True)
    unit = np.zeros(len(pair), dtype=np.int64) if unit is None else unit
    count_units = int(unit.max(initial=0)) + 1
    cell = unit * len(codes) + pair
    points = np.where(is_swapped, games.count - games.points, games.points)
    shape = (count_units, len(codes))
    counts, sums = (
        np.bincount(cell, weights=values, minlength=shape[0] * shape[1]).reshape(shape)
        for values in (games.count, points)
    )
    return Pairs(codes // max(n, 1), codes % max(n, 1), n), counts, sums
