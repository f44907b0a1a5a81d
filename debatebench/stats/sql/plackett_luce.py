"""Plackett–Luce for SQL: a list with an element per debate and debater goes in, ratings per debater come out.

As in `bradley_terry`, debaters and topics are codes from 1, and so are debates; element i of what comes out belongs to
the debater with code i, and is null for a code without a ranking.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from debatebench.stats.sql.bradley_terry import STANDINGS, Codes, Numbers, standings_by_code
from debatebench.stats.sql.sql_function import SqlFunction


def plackett_luce_standings(
    debate: Codes, topic: Codes, debater: Codes, place: Numbers, mean: float, seed: int
) -> dict[str, Any]:
    """Ratings from rankings with 95 % intervals over topics, ranks, and the ranks that are possible for all at once.

    `place` is smaller for a better place, and equal for a shared one.
    """
    from debatebench.stats.plackett_luce import rankings, standings

    codes = sorted(set(debater))
    number = {code: at for at, code in enumerate(codes, 1)}
    ranked = rankings(debate, topic, [number[code] for code in debater], place)
    return standings_by_code(codes, standings(ranked, mean=mean, seed=seed))


FUNCTIONS: Mapping[str, SqlFunction] = {
    "plackett_luce_standings": SqlFunction(
        plackett_luce_standings,
        ("INTEGER[]", "INTEGER[]", "INTEGER[]", "DOUBLE[]", "DOUBLE", "INTEGER"),
        STANDINGS,
        (
            "stats/plackett_luce.py",
            "stats/sql/bradley_terry.py",
            "stats/bradley_terry.py",
            "stats/counted_games.py",
            "stats/standings.py",
            "stats/rank_sets.py",
            "stats/distributions.py",
        ),
    ),
}
