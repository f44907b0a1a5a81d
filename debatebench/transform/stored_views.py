"""Compute each view of a warehouse once for many queries; otherwise each query computes it again.

The rows are stored in a separate in-memory database, which DuckDB spills to disk; the warehouse is not changed.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from graphlib import TopologicalSorter

import duckdb

from debatebench.shared.duckdb_sql import quoted_identifier, quoted_text

_CATALOG = '"stored views"'
_READ = re.compile(r"\b(?:from|join)[\s(]+(\w+\.\w+)", re.IGNORECASE)
_ANOTHER_NAME = re.compile(r"select \* from [\w.]+;?", re.IGNORECASE)


@contextmanager
def stored_views(
    con: duckdb.DuckDBPyConnection,
    queries: Sequence[Collection[str]] | None = None,
    *,
    only: Collection[str] | None = None,
) -> Iterator[StoredViews]:
    """The views of the warehouse that is the current database of `con`, for queries that run in this order.

    Each of `queries` is the dotted names that one query reads, and a name may be unknown; None if every view may be
    read several times. `only` names the views to store, if not all that are read often enough. If DuckDB was opened
    read-only, nothing can be stored, and every query computes its views as usual.
    """
    with closing(con.cursor()) as cursor:
        ((database,),) = con.execute("select current_database()").fetchall()
        cursor.execute(f"use {quoted_identifier(database)}")
        try:
            cursor.execute(f"attach ':memory:' as {_CATALOG}")
        except duckdb.CatalogException:
            yield StoredViews(cursor, {}, [])
            return
        try:
            definitions = _definitions(cursor, database)
            yield StoredViews(cursor, definitions, [definitions] * 2 if queries is None else queries, only)
        finally:
            cursor.execute(f"use {quoted_identifier(database)}; detach {_CATALOG}")


def _definitions(con: duckdb.DuckDBPyConnection, database: str) -> dict[str, str]:
    """Dotted name → query of every view; from here on, names in `_CATALOG` take precedence over the warehouse."""
    found = con.execute(
        "select schema_name || '.' || view_name, sql from duckdb_views() "
        "where database_name = current_database() and schema_name <> 'main' and not internal"
    ).fetchall()
    schemas = sorted({name.partition(".")[0] for name, _ in found})
    for schema in schemas:
        con.execute(f"create schema {_CATALOG}.{schema}")
    there = con.execute("select schema_name from duckdb_schemas() where database_name = current_database()").fetchall()
    path = [f"{_CATALOG}.{schema}" for schema in schemas]
    path += [f"{quoted_identifier(database)}.{schema}" for (schema,) in there]
    con.execute(f"set search_path = {quoted_text(','.join(path))}")
    # DuckDB formats the statement itself, so that it begins the same way for every view: CREATE VIEW schema.name AS.
    return {name: sql.partition(" AS ")[2] for name, sql in found}


class StoredViews:
    """Views, stored from the first query that reads them to the last. `con` sees the stored rows under their names.

    Unless the views to store are named, a view is stored when it is read at least twice, by queries or by views that
    are stored. Staging views and aliases of a view are not stored: they only rename, and DuckDB then reads only the
    columns that a query selects.
    """

    def __init__(
        self,
        con: duckdb.DuckDBPyConnection,
        definitions: dict[str, str],
        queries: Sequence[Collection[str]],
        only: Collection[str] | None = None,
    ) -> None:
        self.con, self._definitions = con, definitions
        self._reads = {
            name: sorted(set(_READ.findall(sql.replace('"', ""))) & definitions.keys() - {name})
            for name, sql in definitions.items()
        }
        self._uses = Counter(name for names in queries for name in set(names) if name in definitions)
        self._stored: set[str] = set()
        in_order = tuple(TopologicalSorter(self._reads).static_order())
        for name in reversed(in_order):
            only_renames = name.startswith("staging.") or _ANOTHER_NAME.fullmatch(definitions[name])
            if name in only if only is not None else self._uses[name] > 1 and not only_renames:
                self._stored.add(name)
            for read in self._reads[name]:
                self._uses[read] += 1 if name in self._stored else self._uses[name]
        self._made: dict[str, str] = {}
        self._over_stored: set[str] = set()
        for name in in_order:
            if name in self._stored or not self._over_stored.isdisjoint(self._reads[name]):
                self._over_stored.add(name)

    def stores(self, names: Collection[str]) -> bool:
        """Whether a query that reads these names reads rows that are stored."""
        return not self._over_stored.isdisjoint(names)

    @contextmanager
    def ready(self, names: Collection[str]) -> Iterator[None]:
        """Within the block, the views that this query reads are stored; after it, those not read again are dropped."""
        self.make(names)
        try:
            yield
        finally:
            for name in self._known(names):
                self._release(name)

    def make(self, names: Collection[str]) -> None:
        """Store what a query reads, and keep it to the end."""
        for name in self._known(names):
            self._make(name)

    def _known(self, names: Collection[str]) -> list[str]:
        return sorted(name for name in set(names) if name in self._definitions)

    def _make(self, name: str) -> None:
        if name in self._made:
            return
        for read in self._reads[name]:
            self._make(read)
        kind = "table" if name in self._stored else "view"
        if kind == "table" or self._reads[name]:
            # A view that cannot be stored stays a view, and the query that reads it reports the error.
            with suppress(duckdb.Error):
                self.con.execute(f"create {kind} {_CATALOG}.{name} as {self._definitions[name]}")
        self._made[name] = kind
        if kind == "table":
            for read in self._reads[name]:
                self._release(read)

    def _release(self, name: str) -> None:
        self._uses[name] -= 1
        if name not in self._stored:
            for read in self._reads[name]:
                self._release(read)
        elif not self._uses[name]:
            self.con.execute(f"drop table if exists {_CATALOG}.{name}")
