"""Bring a table up to date for the parts of the landed rows that changed, and leave all its other rows unchanged.

A SQL model with `incremental_by: x` promises that each of its rows belongs to the part that its column `x` names, and
is computed from the landed rows of that part, and of the part that this one is about. So after a landing, only the rows
of the changed parts, and of those that are about them, are computed again.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from typing import TYPE_CHECKING

from debatebench.shared.duckdb_sql import quoted_text
from debatebench.transform.one_query import execute_one
from debatebench.transform.sql_model import MACROS, SqlModel

if TYPE_CHECKING:
    import duckdb


def changed_parts(before: Mapping[str, str] | None, now: Mapping[str, str] | None) -> tuple[str, ...] | None:
    """The parts that are new, removed, or landed with other content, in order; None when unknown or when all changed.

    Both arguments map a part to the hash of what was landed.
    """
    if not before or not now:
        return None
    changed = sorted(part for part in before.keys() | now.keys() if before.get(part) != now.get(part))
    return None if now.keys() <= set(changed) else tuple(changed)


def catalog_of(model: SqlModel) -> str:
    """The database that `replace_parts` attaches for a model, as an identifier in SQL."""
    return f'"changed rows for {model.name}"'


def replace_parts(
    con: duckdb.DuckDBPyConnection, model: SqlModel, models: Mapping[str, SqlModel], parts: Sequence[str]
) -> int:
    """Compute the rows of `parts` in the model's table again, and return the number of all its rows.

    `con` has an open transaction in which nothing has been done yet. The database `catalog_of(model)` is attached, and
    stays attached until the caller detaches it. Raises the `duckdb.Error` of the query.
    """
    ((database,),) = con.execute("select current_database()").fetchall()
    column = model.properties.config.incremental_by or ""
    table = f'"{database}".{model.name}'
    is_changed = _is_one_of(column, parts)
    sources = {name: f'from "{database}".{name}' for name in model.dependencies}
    for name in sources:
        if name not in models or models[name].has_column(column):
            sources[name] += f" where {is_changed}"
    con.execute(f"delete from {table} where {is_changed}")
    own = (MACROS, "main") if model.query.macro_calls else ("main",)
    with _in_place_of(con, database, sources, catalog_of(model), own):
        # On the same line as the start of the text, so that line numbers in DuckDB's messages match the file. A query
        # that also reads relations without parts may return rows of other parts as well.
        rows = f"select * from ({model.query.sql}\n) where {is_changed}"
        execute_one(con, rows, model.file, into=f"insert into {table} ")
    return int(con.execute(f"select count(*) from {table}").fetchall()[0][0])


def _is_one_of(column: str, parts: Sequence[str]) -> str:
    """The condition in SQL. DuckDB moves comparisons through joins to the tables below, and lists of values not."""
    if len(parts) == 1:
        return f"{column} = {quoted_text(parts[0])}"
    listed = ", ".join(map(quoted_text, parts))
    return f"{column} in ({listed}) and {column} between {quoted_text(min(parts))} and {quoted_text(max(parts))}"


@contextmanager
def _in_place_of(
    con: duckdb.DuckDBPyConnection, database: str, sources: Mapping[str, str], catalog: str, own: Sequence[str]
) -> Iterator[None]:
    """Within the block, these dotted names stand for these queries on `con`. After an error, `con` must be closed.

    The names are views in another database, which DuckDB searches before the schemas `own` of `database`. It is filled
    over a separate connection, because a transaction can write to only one database.
    """
    schemas = sorted({name.partition(".")[0] for name in sources})
    with closing(con.cursor()) as other:
        other.execute(f"attach ':memory:' as {catalog}")
        for schema in schemas:
            other.execute(f"create schema {catalog}.{schema}")
        for name, query in sources.items():
            other.execute(f"create view {catalog}.{name} as {query}")
    # DuckDB looks for a macro's schema in the second database only if the search path contains that schema.
    path = ",".join([*(f"{catalog}.{schema}" for schema in schemas), *(f'"{database}".{name}' for name in own)])
    con.execute(f"set search_path = {quoted_text(path)}")
    yield
    con.execute(f'use "{database}"')
