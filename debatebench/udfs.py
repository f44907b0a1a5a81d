"""Python functions for SQL, over lists of numbers: the pure functions of `debatebench.stats` with a game order.

SQL may hand over the elements of its lists in any order, so every function sorts by its `order` argument.
Only tables may call them: a view that did could not be read by another process.
"""

from __future__ import annotations

import hashlib
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from debatebench.stats import elo

if TYPE_CHECKING:
    import duckdb

__all__ = ["FUNCTIONS", "SqlFunction", "fingerprint", "register"]


@dataclass(frozen=True, slots=True)
class SqlFunction:
    """A Python function with its SQL signature. `source` is the module whose code decides what it returns."""

    call: Callable[..., Any]
    parameters: tuple[str, ...]
    returns: str
    source: str


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
    """Ratings before and after every game: element i belongs to the game with the i-th smallest `order`."""
    path = elo.elo_path(*_sorted_games(order, pro, con, score), initial=initial, k=k)
    return {
        "pro_before": path.pro_before,
        "con_before": path.con_before,
        "pro_after": path.pro_after,
        "con_after": path.con_after,
    }


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
    # Plain lists, because a loop over array elements is several times slower.
    places = rank.tolist()
    return [pro[i] for i in places], [con[i] for i in places], [score[i] for i in places]


_GAMES = ("BIGINT[]", "INTEGER[]", "INTEGER[]", "DOUBLE[]", "DOUBLE", "DOUBLE")

FUNCTIONS: dict[str, SqlFunction] = {
    "elo_ratings": SqlFunction(elo_ratings, _GAMES, "DOUBLE[]", elo.__name__),
    "elo_path": SqlFunction(
        elo_path,
        _GAMES,
        "STRUCT(pro_before DOUBLE[], con_before DOUBLE[], pro_after DOUBLE[], con_after DOUBLE[])",
        elo.__name__,
    ),
}


def register(con: duckdb.DuckDBPyConnection) -> None:
    """Make every function of `FUNCTIONS` callable on this connection; calling it again changes nothing.

    No result of the connection may be half read.
    """
    known = {name for (name,) in con.execute("select function_name from duckdb_functions()").fetchall()}
    for name, function in FUNCTIONS.items():
        if name not in known:
            con.create_function(name, function.call, list(function.parameters), function.returns)


def fingerprint(name: str) -> str:
    """Hash of a function's signature and of the code behind it; it changes when results may change."""
    function = FUNCTIONS[name]
    digest = hashlib.sha256(f"{name}{function.parameters}{function.returns}".encode())
    for module in (__name__, function.source):
        digest.update(Path(str(sys.modules[module].__file__)).read_bytes())
    return digest.hexdigest()
