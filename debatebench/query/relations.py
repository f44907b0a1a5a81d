"""What a warehouse holds: its tables and views with their columns."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import duckdb

_COLUMNS = """
select c.schema_name || '.' || c.table_name as name, r.kind, c.column_name, c.data_type
from duckdb_columns() as c
join (
    select table_oid as oid, 'table' as kind from duckdb_tables() where database_name = current_database()
    union all
    select view_oid, 'view' from duckdb_views() where database_name = current_database() and not internal
) as r on r.oid = c.table_oid
where c.database_name = current_database() and not c.internal
order by name, c.column_index
"""


@dataclass(frozen=True, slots=True)
class Relation:
    """A table or view: its dotted name, its kind, and its columns as (name, DuckDB type) in order."""

    name: str
    kind: str
    columns: tuple[tuple[str, str], ...]


def read_relations(con: duckdb.DuckDBPyConnection) -> dict[str, Relation]:
    """Dotted name → relation for every table and view in the warehouse, sorted by name."""
    found: dict[str, tuple[str, list[tuple[str, str]]]] = {}
    for name, kind, column, type_name in con.execute(_COLUMNS).fetchall():
        found.setdefault(name, (kind, []))[1].append((column, type_name))
    return {name: Relation(name, kind, tuple(columns)) for name, (kind, columns) in found.items()}


def read_macros(con: duckdb.DuckDBPyConnection) -> tuple[str, ...]:
    """The dotted name of every macro in the warehouse, sorted."""
    rows = con.execute(
        "select schema_name || '.' || function_name from duckdb_functions() "
        "where database_name = current_database() and not internal and function_type = 'macro' order by all"
    ).fetchall()
    return tuple(name for (name,) in rows)
