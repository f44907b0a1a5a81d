"""Bradley–Terry for SQL: lists of counted games in, ratings per debater out.

Debaters and topics are codes from 1; element i of what comes out belongs to the debater with code i, and is null for a
code without a game. Rows may repeat and come in any order. Ratings are on the Elo scale around `mean`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from debatebench.stats.sql.sql_function import SqlFunction

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from debatebench.stats.counted_games import Games
    from debatebench.stats.standings import Standings

Codes = Sequence[int]
Numbers = Sequence[float]


def bradley_terry_ratings(
    pro: Codes, con: Codes, pro_wins: Codes, ties: Codes, con_wins: Codes, mean: float
) -> dict[str, list[Any]]:
    """Ratings without intervals, and the group of debaters (from 1) that chains of wins or ties link both ways."""
    from debatebench.stats.bradley_terry import ELO_PER_LOG_STRENGTH, fit

    games, codes = _games([1] * len(pro), pro, con, pro_wins, ties, con_wins)
    fitted = fit(games)
    rating = (mean + ELO_PER_LOG_STRENGTH * fitted.strengths).round(9)
    return {"rating": _by_code(codes, rating), "component": _by_code(codes, fitted.component + 1)}


def bradley_terry_standings(
    topic: Codes,
    pro: Codes,
    con: Codes,
    pro_wins: Codes,
    ties: Codes,
    con_wins: Codes,
    mean: float,
    resamples: int,
    seed: int,
) -> dict[str, Any]:
    """Ratings with 95 % intervals by resampling topics, ranks, and the ranks that are possible for all at once."""
    from debatebench.stats.standings import standings

    games, codes = _games(topic, pro, con, pro_wins, ties, con_wins)
    found = standings(games, mean=mean, resamples=resamples, seed=seed)
    return standings_by_code(codes, found)


def standings_by_code(codes: Sequence[int], found: Standings) -> dict[str, Any]:
    """Standings as a struct of the type `STANDINGS`, with a place for every code."""
    return {
        "rating": _by_code(codes, found.rating),
        "ci_low": _by_code(codes, found.ci_low),
        "ci_high": _by_code(codes, found.ci_high),
        "rank": _by_code(codes, found.rank),
        "rank_low": _by_code(codes, found.rank_low),
        "rank_high": _by_code(codes, found.rank_high),
        "component": _by_code(codes, found.component + 1),
        "is_separated": found.is_separated,
        "interval_method": found.interval_method,
        "count_topics": found.count_topics,
    }


def bradley_terry_without_topics(
    topic: Codes, pro: Codes, con: Codes, pro_wins: Codes, ties: Codes, con_wins: Codes, mean: float
) -> list[list[float | None] | None]:
    """Ratings without each topic: element t is the list of all debaters' ratings without the topic with code t."""
    from debatebench.stats.bradley_terry import ratings_without_topics

    games, codes = _games(topic, pro, con, pro_wins, ties, con_wins)
    topics, ratings = ratings_without_topics(games, mean)
    left_out: list[list[float | None] | None] = [None] * max(topic, default=0)
    for place, own in zip(topics.tolist(), ratings.round(3), strict=True):
        left_out[place] = _by_code(codes, own)
    return left_out


def bradley_terry_errors(
    topic: Codes, pro: Codes, con: Codes, pro_wins: Codes, ties: Codes, con_wins: Codes
) -> dict[str, list[Any]]:
    """Standard errors on the Elo scale: the model's, and the sandwich's around games (HC0) and around topics.

    None has a correction for small samples.
    """
    from debatebench.stats.bradley_terry import ELO_PER_LOG_STRENGTH, fit, standard_errors

    games, codes = _games(topic, pro, con, pro_wins, ties, con_wins)
    errors = standard_errors(games, fit(games))
    return {
        name: _by_code(codes, ELO_PER_LOG_STRENGTH * values)
        for name, values in (("model", errors.model), ("games", errors.games), ("topics", errors.topics))
    }


def bradley_terry_resampled(
    game: Codes, pro: Codes, con: Codes, score: Numbers, resamples: Sequence[Codes], mean: float
) -> list[list[float]]:
    """Ratings in each of `resamples`, which are lists of numbers of `game`: one list of ratings per resample."""
    from debatebench.stats.bradley_terry import resampled_ratings

    _check(game=game, pro=pro, con=con, score=score)
    return resampled_ratings(game, pro, con, score, resamples, mean)


def bradley_terry_with_controls(
    topic: Codes, pro: Codes, con: Codes, score: Numbers, length_difference: Numbers, mean: float
) -> dict[str, Any] | None:
    """Ratings at equal length on no side, and what a side and length are worth; one element per game goes in.

    `length_difference` is `(pro - con) / (pro + con)`. An effect that the games cannot tell is null.
    """
    from debatebench.stats.bradley_terry_controls import controlled

    _check(topic=topic, pro=pro, con=con, score=score, length_difference=length_difference)
    codes, (own_pro, own_con) = _compact(pro, con)
    found = controlled(topic, own_pro, own_con, score, length_difference, mean=mean)
    if found is None:
        return None

    debaters: list[Any] = [None] * codes[-1]
    for code, estimate in zip(codes, found.ratings, strict=True):
        debaters[code - 1] = asdict(estimate)
    return {
        "debaters": debaters,
        "pro_side": None if found.pro_side is None else asdict(found.pro_side),
        "length": None if found.length is None else asdict(found.length),
        "length_sd": found.length_sd,
        "is_separated": found.is_separated,
        "interval_method": found.interval_method,
    }


def davidson_ratings(
    pro: Codes, con: Codes, pro_wins: Codes, ties: Codes, con_wins: Codes, mean: float
) -> dict[str, Any]:
    """Ratings by Davidson's model, in which ties have a parameter ν; null where all games were tied."""
    from debatebench.stats.bradley_terry import ELO_PER_LOG_STRENGTH
    from debatebench.stats.bradley_terry_controls import davidson

    games, codes = _games([1] * len(pro), pro, con, pro_wins, ties, con_wins)
    found = davidson(games)
    return {
        "rating": _by_code(codes, (mean + ELO_PER_LOG_STRENGTH * found.strengths).round(9)),
        "nu": None if found.nu is None else round(found.nu, 9),
        "tie_rate": round(found.tie_rate, 9),
        "is_separated": found.is_separated,
    }


def rank_ranges(ci_low: Numbers, ci_high: Numbers) -> dict[str, list[int]]:
    """The best and the worst rank that each of the intervals leaves open."""
    from debatebench.stats.standings import rank_ranges

    _check(ci_low=ci_low, ci_high=ci_high)
    best, worst = rank_ranges(ci_low, ci_high)
    return {"rank_low": best.tolist(), "rank_high": worst.tolist()}


def _games(
    topic: Codes, pro: Codes, con: Codes, pro_wins: Codes, ties: Codes, con_wins: Codes
) -> tuple[Games, list[int]]:
    """The games, with debaters numbered without gaps, and the codes that these have in SQL."""
    from debatebench.stats.counted_games import counted_games

    _check(topic=topic, pro=pro, con=con, pro_wins=pro_wins, ties=ties, con_wins=con_wins)
    codes, (own_pro, own_con) = _compact(pro, con)
    return counted_games(topic, own_pro, own_con, pro_wins, ties, con_wins), codes


def _compact(pro: Codes, con: Codes) -> tuple[list[int], NDArray[Any]]:
    """The codes that occur, and both lists with each code's place among them, from 1."""
    import numpy as np

    both = np.array([pro, con], dtype=np.int64)
    if both.min(initial=1) < 1:
        raise ValueError("codes run from 1")
    codes, places = np.unique(both, return_inverse=True)
    return codes.tolist(), places.reshape(both.shape) + 1


def _by_code(codes: Sequence[int], values: NDArray[Any]) -> list[Any]:
    """Values of the codes that occur → a list with a place for every code."""
    placed: list[Any] = [None] * max(codes, default=0)
    for code, value in zip(codes, values.tolist(), strict=True):
        placed[code - 1] = value
    return placed


def _check(**lists: Sequence[Any]) -> None:
    """Refuse lists of different lengths, and a null in one."""
    first, count = next((name, len(values)) for name, values in lists.items())
    for name, values in lists.items():
        if len(values) != count:
            raise ValueError(f"`{name}` has {len(values)} elements, but `{first}` has {count}")
        if None in values:
            raise ValueError(f"`{name}` contains a null")


_COUNTS = ("INTEGER[]",) * 5
STANDINGS = (
    "STRUCT(rating DOUBLE[], ci_low DOUBLE[], ci_high DOUBLE[], rank BIGINT[], rank_low BIGINT[], rank_high BIGINT[], "
    "component BIGINT[], is_separated BOOLEAN, interval_method VARCHAR, count_topics BIGINT)"
)
_ESTIMATE = "STRUCT(value DOUBLE, ci_low DOUBLE, ci_high DOUBLE)"
_FIT = ("stats/bradley_terry.py", "stats/counted_games.py")
_STANDINGS = (*_FIT, "stats/standings.py", "stats/rank_sets.py", "stats/distributions.py")
_CONTROLS = (*_STANDINGS, "stats/bradley_terry_controls.py")

FUNCTIONS: Mapping[str, SqlFunction] = {
    "bradley_terry_ratings": SqlFunction(
        bradley_terry_ratings, (*_COUNTS, "DOUBLE"), "STRUCT(rating DOUBLE[], component BIGINT[])", _FIT
    ),
    "bradley_terry_standings": SqlFunction(
        bradley_terry_standings,
        ("INTEGER[]", *_COUNTS, "DOUBLE", "INTEGER", "INTEGER"),
        STANDINGS,
        _STANDINGS,
    ),
    "bradley_terry_without_topics": SqlFunction(
        bradley_terry_without_topics, ("INTEGER[]", *_COUNTS, "DOUBLE"), "DOUBLE[][]", _FIT
    ),
    "bradley_terry_errors": SqlFunction(
        bradley_terry_errors, ("INTEGER[]", *_COUNTS), "STRUCT(model DOUBLE[], games DOUBLE[], topics DOUBLE[])", _FIT
    ),
    "bradley_terry_resampled": SqlFunction(
        bradley_terry_resampled,
        ("INTEGER[]", "INTEGER[]", "INTEGER[]", "DOUBLE[]", "INTEGER[][]", "DOUBLE"),
        "DOUBLE[][]",
        _FIT,
    ),
    "bradley_terry_with_controls": SqlFunction(
        bradley_terry_with_controls,
        ("INTEGER[]", "INTEGER[]", "INTEGER[]", "DOUBLE[]", "DOUBLE[]", "DOUBLE"),
        f"STRUCT(debaters {_ESTIMATE}[], pro_side {_ESTIMATE}, length {_ESTIMATE}, length_sd DOUBLE, "
        "is_separated BOOLEAN, interval_method VARCHAR)",
        _CONTROLS,
    ),
    "davidson_ratings": SqlFunction(
        davidson_ratings,
        (*_COUNTS, "DOUBLE"),
        "STRUCT(rating DOUBLE[], nu DOUBLE, tie_rate DOUBLE, is_separated BOOLEAN)",
        _CONTROLS,
    ),
    "rank_ranges": SqlFunction(
        rank_ranges,
        ("DOUBLE[]", "DOUBLE[]"),
        "STRUCT(rank_low BIGINT[], rank_high BIGINT[])",
        _STANDINGS,
    ),
}
