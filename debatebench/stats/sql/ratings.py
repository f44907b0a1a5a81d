"""Ratings for SQL: lists of games in, lists of ratings out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import islice
from operator import lt
from typing import TYPE_CHECKING

from debatebench.stats import elo
from debatebench.stats.sql.sql_function import SqlFunction

if TYPE_CHECKING:
    from debatebench.stats.elo_orders import EloOrders


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
) -> str:
    """Ratings before every game and what pro gained in it, as JSON: element i belongs to the i-th smallest `order`.

    An object of the lists `pro_before`, `con_before` and `pro_gain`. JSON, because there are as many numbers as games.
    """
    import msgspec

    path = elo.elo_path(*_sorted_games(order, pro, con, score), initial=initial, k=k)
    return msgspec.json.encode(path).decode()


def elo_over_orders(
    order: Sequence[int],
    pro: Sequence[int],
    con: Sequence[int],
    score: Sequence[float],
    initial: float,
    k: float,
    count: int,
    seed: int,
) -> EloOrders:
    """Elo over `count` random orders of the games, or over all of them when there are no more: lists as of debaters."""
    from debatebench.stats.elo_orders import elo_over_orders

    games = _sorted_games(order, pro, con, score)
    return elo_over_orders(*games, initial=initial, k=k, count=count, seed=seed)


def _sorted_games(
    order: Sequence[int], pro: Sequence[int], con: Sequence[int], score: Sequence[float]
) -> tuple[Sequence[int], Sequence[int], Sequence[float]]:
    """The three lists in game order. Raises `ValueError` for a null, and for two games at one position."""
    for name, values in (("order", order), ("pro", pro), ("con", con), ("score", score)):
        if len(values) != len(order):
            raise ValueError(f"`{name}` has {len(values)} elements, but `order` has {len(order)}")
        if None in values:
            raise ValueError(f"`{name}` contains a null")
    # As a rule they come in order.
    if all(map(lt, order, islice(order, 1, None))):
        return pro, con, score
    rank = sorted(range(len(order)), key=order.__getitem__)
    ordered = list(map(order.__getitem__, rank))
    if not all(map(lt, ordered, islice(ordered, 1, None))):
        raise ValueError("`order` contains a position twice, so the order of play is unknown")
    return list(map(pro.__getitem__, rank)), list(map(con.__getitem__, rank)), list(map(score.__getitem__, rank))


_GAMES = ("BIGINT[]", "INTEGER[]", "INTEGER[]", "DOUBLE[]", "DOUBLE", "DOUBLE")
_ELO = ("stats/elo.py",)

FUNCTIONS: Mapping[str, SqlFunction] = {
    "elo_ratings": SqlFunction(elo_ratings, _GAMES, "DOUBLE[]", _ELO),
    "elo_path": SqlFunction(elo_path, _GAMES, "JSON", _ELO),
    "elo_over_orders": SqlFunction(
        elo_over_orders,
        (*_GAMES, "INTEGER", "INTEGER"),
        'STRUCT(mean DOUBLE[], sd DOUBLE[], rank_low INTEGER[], rank_high INTEGER[], "count" INTEGER)',
        ("stats/elo_orders.py",),
    ),
}
