"""How much of an Elo rating is owed to the order of the games.

Elo weighs late games more, and the order of debates says nothing about debaters. So the same games are rated in many
orders: what stays is the debaters', what moves is the order's.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import permutations

import numpy as np
import numpy.typing as npt

from debatebench.stats.elo import check_settings

_SHARE_OUTSIDE = 0.05


@dataclass(frozen=True, slots=True)
class EloOrders:
    """Per debater (element i - 1 belongs to code i), over all orders: mean and population standard deviation of the
    rating, and the ranks between which 95 % of the orders place the debater. `count` is the number of orders."""

    mean: list[float]
    sd: list[float]
    rank_low: list[int]
    rank_high: list[int]
    count: int


def elo_over_orders(
    pro: Sequence[int],
    con: Sequence[int],
    score: Sequence[float],
    *,
    initial: float = 400.0,
    k: float = 32.0,
    count: int = 100,
    seed: int = 0,
) -> EloOrders:
    """Rate the same games in `count` random orders, or in all orders when there are no more than that.

    `pro`, `con` and `score` as in `elo.elo_ratings`. The result depends on `seed` and on the order in which the games
    are given, so give them in a fixed one. Debaters of equal rating share the better rank. Without games everything is
    empty. Raises `ValueError` as `elo.elo_ratings` does for `initial` and `k`.
    """
    check_settings(initial, k)
    games, players = len(pro), max([*pro, *con], default=0)
    if games == 0:
        return EloOrders([], [], [], [], 0)
    orders = _orders(games, count, seed)
    ratings = _rate(
        np.asarray(pro, dtype=np.int64)[orders] - 1,
        np.asarray(con, dtype=np.int64)[orders] - 1,
        np.asarray(score, dtype=np.float64)[orders],
        players,
        initial,
        k,
    )
    ranks = 1 + (ratings[:, None, :] > ratings[:, :, None] + 1e-9).sum(axis=2)
    low, high = np.quantile(ranks, [_SHARE_OUTSIDE / 2, 1 - _SHARE_OUTSIDE / 2], axis=0, method="inverted_cdf")
    return EloOrders(
        ratings.mean(axis=0).tolist(), ratings.std(axis=0).tolist(), low.tolist(), high.tolist(), len(ratings)
    )


def _orders(games: int, count: int, seed: int) -> npt.NDArray[np.int64]:
    """One row of positions per order."""
    # 20! is more than any count, and larger factorials cost time.
    if math.factorial(min(games, 20)) <= count:
        return np.array(list(permutations(range(games))), dtype=np.int64)
    generator = np.random.default_rng(seed)
    return generator.permuted(np.tile(np.arange(games), (count, 1)), axis=1)


def _rate(
    pro: npt.NDArray[np.int64],
    con: npt.NDArray[np.int64],
    score: npt.NDArray[np.float64],
    players: int,
    initial: float,
    k: float,
) -> npt.NDArray[np.float64]:
    """Final ratings, one row per order: the rule of `elo.elo_ratings`, one game of every order at a time."""
    orders, games = pro.shape
    ratings = np.full(orders * players, initial)
    first = np.arange(orders) * players
    # Columns are read one after the other, so each lies together in memory.
    pro_places, con_places = (
        np.ascontiguousarray((pro + first[:, None]).T),
        np.ascontiguousarray((con + first[:, None]).T),
    )
    scores, scale = np.ascontiguousarray(score.T), math.log(10) / 400
    for game in range(games):
        p, c = pro_places[game], con_places[game]
        pro_before, con_before = ratings[p], ratings[c]
        change = k * (scores[game] - 1.0 / (1.0 + np.exp((con_before - pro_before) * scale)))
        ratings[p] = pro_before + change
        ratings[c] = con_before - change
    return ratings.reshape(orders, players)
