"""What many queries of a site read, computed and stored when the first of them runs."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from debatebench.transform.stored_views import StoredViews, stored_views

if TYPE_CHECKING:
    import duckdb

STORED = frozenset(
    {
        "intermediate.int_comparison_differences",
        "intermediate.int_decided_verdicts",
        "marts.comparability_verdicts",
        "marts.debate_coherence",
        "marts.debate_comparison",
        "marts.debate_dimension_means",
        "marts.debates",
        "marts.debater_comparison",
        "marts.decided_debates",
        "marts.judge_alignment",
        "marts.reliability",
        "original.model_dimension_avg",
    }
)
"""Views over all debates that several queries read."""

_FEW_DEBATES, _MOST_OF_FEW = 10_000, 100_000
"""Up to so many per run, and in all, planning the queries takes longer than storing the rows of every view."""

_NAME = re.compile(r"\b\w+\.\w+\b")


@contextmanager
def stored_once(con: duckdb.DuckDBPyConnection, *, count_runs: int, count_debates: int) -> Iterator[StoredOnce]:
    """What the queries of a site share, of the warehouse that is the current database of `con`.

    Where there are few debates, that is every view.
    """
    if count_debates <= min(_FEW_DEBATES * count_runs, _MOST_OF_FEW):
        stored = stored_views(con)
    else:
        stored = stored_views(con, [STORED], only=STORED)
    with stored as views:
        yield StoredOnce(views)


class StoredOnce:
    """Views as tables, each from the first query on that reads it."""

    def __init__(self, views: StoredViews) -> None:
        self._views = views

    def reading(self, sql: str) -> duckdb.DuckDBPyConnection | None:
        """Where a query finds the stored rows; None if it reads none of them, or what the warehouse is called.

        All else is there as in the warehouse.
        """
        names = set(_NAME.findall(sql))
        if "current_database" in sql or not self._views.stores(names):
            return None
        self._views.make(names)
        return self._views.con
