"""Short names: views in `main`, so that `from orders` finds `marts.orders` in every client of the file.

They are not SQL models: no list of what was built contains them.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from debatebench.shared.duckdb_sql import quoted_identifier, transaction
from debatebench.transform.project import Project

if TYPE_CHECKING:
    import duckdb


# As DuckDB stores the text of such a view.
_STORED = re.compile(r"CREATE VIEW (\w+) AS SELECT \* FROM (?P<name>\w+\.\1);")


def short_names(project: Project) -> dict[str, str]:
    """Short name → dotted name, of what people ask: a name that two schemas have is that of the first.

    Versions and deprecated SQL models have no short name.
    """
    asked = project.domain.asked
    models = [m for m in project.models.values() if m.schema in asked and m.version is None]
    current = [model for model in models if model.properties.deprecation_date is None]
    current.sort(key=lambda model: asked.index(model.schema), reverse=True)
    return {model.name.partition(".")[2]: model.name for model in current}


def update_short_names(
    con: duckdb.DuckDBPyConnection, project: Project, built: Mapping[str, str], columns: Mapping[str, Mapping[str, str]]
) -> None:
    """Create, replace and drop the views in `main` until they fit what is built.

    `built` is dotted name → `table` or `view`; `columns` are those of every relation in the file, by dotted name. Views
    of `main` with another query, and tables, stay as they are, and their names are not used.
    """
    wanted = {short: name for short, name in short_names(project).items() if name in built}
    ours, others = _views(con)
    others |= {name.partition(".")[2] for name in columns if name.startswith("main.")} - ours.keys()
    statements = [f"drop view main.{quoted_identifier(short)}" for short in ours if short not in wanted]
    for short, name in wanted.items():
        fits = ours.get(short) == name and columns.get(f"main.{short}") == columns[name]
        if not fits and short not in others:
            statements += _creating(name, built[name], columns[name])
    if statements:
        with transaction(con):
            con.execute("; ".join(statements))


def stored_short_names(con: duckdb.DuckDBPyConnection) -> dict[str, str]:
    """Short name → dotted name, as they are in the file."""
    return _views(con)[0]


def _views(con: duckdb.DuckDBPyConnection) -> tuple[dict[str, str], set[str]]:
    """The views of `main`: short name → dotted name, and the names of others."""
    rows = con.execute(
        "select view_name, replace(sql, '\"', '') from duckdb_views() "
        "where database_name = current_database() and schema_name = 'main' and not internal"
    ).fetchall()
    matches = ((name, _STORED.fullmatch(sql)) for name, sql in rows)
    ours = {name: match["name"] for name, match in matches if match is not None}
    return ours, {name for name, _ in rows} - ours.keys()


def _creating(name: str, kind: str, columns: Mapping[str, str]) -> Iterator[str]:
    """Statements that create one view.

    DuckDB would bind the query of a view, and those of all views below it, only to learn its columns, which are known.
    So a view with these columns and no query takes its place meanwhile.
    """
    schema, _, table = name.partition(".")
    short, typed = quoted_identifier(table), (f"null::{t} as {quoted_identifier(c)}" for c, t in columns.items())
    create = f"create or replace view main.{short} as from {schema}.{short}"
    if kind == "table":
        yield create
        return
    # No SQL model has this name, because of the space.
    aside = quoted_identifier(f"{table} itself")
    yield f"alter view {schema}.{short} rename to {aside}"
    yield f"create view {schema}.{short} as select {', '.join(typed)}"
    yield create
    yield f"drop view {schema}.{short}"
    yield f"alter view {schema}.{aside} rename to {short}"
