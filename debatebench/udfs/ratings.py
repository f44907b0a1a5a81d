"""Ratings for SQL: lists of games in, lists of ratings out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

from debatebench.stats import elo
from debatebench.udfs.sql_function import SqlFunction

__all__ = ["FUNCTIONS", "elo_over_orders", "elo_path", "elo_ratings"]


def elo_ratings(
    order: Sequence[int], pro: Sequence[int], con: Sequence[int], score: Sequence[float], initial: float, k: float
) -> list[float]:
    """Final Elo rating per debater: element i belongs to code i.

    `order` is the unique position of each game, `pro` and `con` are debater codes 1..n, `score` is 1 when pro won,
    0.5 for a tie and 0 when con won.
    """
    return elo.elo_ratings(*_sorted_games(order, pro, con, score), initial=initial, k=k)


def elo_path(
    order: Sequence[int], pro: Sequence[int], con: Sequence[int], score: Sequence[float], initial: float, k: float
) -> dict[str, list[float]]:
    """Ratings before every game and what pro gained in it: element i belongs to the i-th smallest `order`."""
    path = elo.elo_path(*_sorted_games(order, pro, con, score), initial=initial, k=k)
    return {"pro_before": path.pro_before, "con_before": path.con_before, "pro_gain": path.pro_gain}


def elo_over_orders(
    order: Sequence[int],
    pro: Sequence[int],
    con: Sequence[int],
    score: Sequence[float],
    initial: float,
    k: float,
    count: int,
    seed: int,
) -> dict[str, Any]:
    """Elo over `count` random orders of the games, or over all of them when there are no more: lists as of debaters."""
    from debatebench.stats.elo_orders import elo_over_orders

    games = _sorted_games(order, pro, con, score)
    return asdict(elo_over_orders(*games, initial=initial, k=k, count=count, seed=seed))


def _sorted_games(
    order: Sequence[int], pro: Sequence[int], con: Sequence[int], score: Sequence[float]
) -> tuple[Sequence[int], Sequence[int], Sequence[float]]:
    """The three lists in game order. Raises `ValueError` for a null, and for two games at one position."""
    import numpy as np

    for name, values in (("order", order), ("pro", pro), ("con", con), ("score", score)):
        if len(values) != len(order):
            raise ValueError(f"`{name}` has {len(values)} elements, `order` has {len(order)}")
        if None in values:
            raise ValueError(f"`{name}` holds a null")
    positions = np.array(order, dtype=np.int64)
    rank = np.argsort(positions)
    if (np.diff(positions[rank]) == 0).any():
        raise ValueError("`order` holds a position twice, so the order of play is not known")
    # Plain lists come back, because a loop over array elements is several times slower.
    return (
        np.array(pro, dtype=np.int64)[rank].tolist(),
        np.array(con, dtype=np.int64)[rank].tolist(),
        np.array(score, dtype=np.float64)[rank].tolist(),
    )


_GAMES = ("BIGINT[]", "INTEGER[]", "INTEGER[]", "DOUBLE[]", "DOUBLE", "DOUBLE")
_ELO = ("stats/elo.py",)

FUNCTIONS: Mapping[str, SqlFunction] = {
    "elo_ratings": SqlFunction(elo_ratings, _GAMES, "DOUBLE[]", _ELO),
    "elo_path": SqlFunction(
        elo_path,
        _GAMES,
        "STRUCT(pro_before DOUBLE[], con_before DOUBLE[], pro_gain DOUBLE[])",
        _ELO,
    ),
    "elo_over_orders": SqlFunction(
        elo_over_orders,
        (*_GAMES, "INTEGER", "INTEGER"),
        'STRUCT(mean DOUBLE[], sd DOUBLE[], rank_low INTEGER[], rank_high INTEGER[], "count" INTEGER)',
        ("stats/elo_orders.py",),
    ),
}
