"""Bring a table up to date for the runs that changed, and leave the rows of all others as they are.

A SQL model with `incremental_by: run_tag` promises that each of its rows belongs to one run and comes of that run's
landed rows alone. So after a landing it is worked out from the rows of the changed runs only.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from typing import TYPE_CHECKING

from debatebench.shared.duckdb_sql import quoted_text
from debatebench.transform.sql_model import MACROS

if TYPE_CHECKING:
    import duckdb

    from debatebench.transform.sql_model import SqlModel

__all__ = ["catalog_of", "changed_runs", "replace_runs"]


def changed_runs(before: Mapping[str, str] | None, now: Mapping[str, str] | None) -> tuple[str, ...] | None:
    """The runs that are new, gone, or landed with other content, in order; None when it is not known or all are.

    Both map a run tag to the hash of what was landed.
    """
    if not before or not now:
        return None
    changed = sorted(tag for tag in before.keys() | now.keys() if before.get(tag) != now.get(tag))
    return None if now.keys() <= set(changed) else tuple(changed)


def catalog_of(model: SqlModel) -> str:
    """The database that `replace_runs` attaches for a model, as an identifier in SQL."""
    return f'"changed rows for {model.name}"'


def replace_runs(
    con: duckdb.DuckDBPyConnection, model: SqlModel, models: Mapping[str, SqlModel], runs: Sequence[str]
) -> int:
    """Make the rows of `runs` in the model's table anew, and return the number of all its rows.

    `con` has a transaction open in which nothing was done yet. The database `catalog_of(model)` is attached, and stays
    until the caller detaches it. Raises `duckdb.Error` as the query does.
    """
    ((database,),) = con.execute("select current_database()").fetchall()
    table = f'"{database}".{model.name}'
    is_changed = f"run_tag in ({', '.join(map(quoted_text, runs))})"
    sources = {name: f'from "{database}".{name}' for name in model.dependencies}
    for name in sources:
        if _has_run_tag(name, models):
            sources[name] += f" where {is_changed}"
    con.execute(f"delete from {table} where {is_changed}")
    own = (MACROS, "main") if model.query.macro_calls else ("main",)
    with _in_place_of(con, database, sources, catalog_of(model), own):
        # On one line with the text's first, so that line numbers of DuckDB's messages are those of the file. What reads
        # more than rows of runs may make rows of other runs too.
        con.execute(f"insert into {table} select * from ({model.query.sql}\n) where {is_changed}")
    return int(con.execute(f"select count(*) from {table}").fetchall()[0][0])


def _has_run_tag(name: str, models: Mapping[str, SqlModel]) -> bool:
    return name not in models or models[name].has_column("run_tag")


@contextmanager
def _in_place_of(
    con: duckdb.DuckDBPyConnection, database: str, sources: Mapping[str, str], catalog: str, own: Sequence[str]
) -> Iterator[None]:
    """Within, these dotted names mean these queries for `con`. After an error it has to be closed.

    The names are views of another database that is looked through first, before the schemas `own` of `database`. It is
    filled over a connection of its own, because a transaction writes to one database.
    """
    schemas = sorted({name.partition(".")[0] for name in sources})
    with closing(con.cursor()) as other:
        other.execute(f"attach ':memory:' as {catalog}")
        for schema in schemas:
            other.execute(f"create schema {catalog}.{schema}")
        for name, query in sources.items():
            other.execute(f"create view {catalog}.{name} as {query}")
    # A macro's schema is not looked for in the second database unless it is named.
    path = ",".join([*(f"{catalog}.{schema}" for schema in schemas), *(f'"{database}".{name}' for name in own)])
    con.execute(f"set search_path = {quoted_text(path)}")
    yield
    con.execute(f'use "{database}"')
