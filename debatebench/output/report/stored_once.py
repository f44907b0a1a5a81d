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
        "intermediate.int_decided_verdicts",
        "intermediate.int_verdict_comparisons",
        "marts.debate_coherence",
        "marts.debate_dimension_means",
        "marts.debates",
        "marts.decided_debates",
        "marts.judge_alignment",
        "marts.reliability",
        "original.model_dimension_avg",
    }
)
"""Views over all debates that several queries read."""

_NAME = re.compile(r"\b\w+\.\w+\b")


@contextmanager
def stored_once(con: duckdb.DuckDBPyConnection) -> Iterator[StoredOnce]:
    """`STORED` for the queries of a site on the warehouse that is the current database of `con`."""
    with stored_views(con, [STORED], only=STORED) as views:
        yield StoredOnce(views)


class StoredOnce:
    """`STORED` as tables, each from the first query on that reads it."""

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
