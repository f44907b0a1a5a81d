"""What a warehouse holds: its tables and views with their columns."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from debatebench.transform.build_state import relations
from debatebench.transform.contracts import columns_of_all

if TYPE_CHECKING:
    import duckdb


@dataclass(frozen=True, slots=True)
class Relation:
    """A table or view: its dotted name, its kind, and its columns as (name, DuckDB type) in order."""

    name: str
    kind: str
    columns: tuple[tuple[str, str], ...]


def read_relations(con: duckdb.DuckDBPyConnection) -> dict[str, Relation]:
    """Dotted name → relation for every table and view in the warehouse, sorted by name."""
    columns = columns_of_all(con)
    return {name: Relation(name, kind, tuple(columns[name].items())) for name, kind in sorted(relations(con).items())}


def has_relation(con: duckdb.DuckDBPyConnection, name: str) -> bool:
    """Whether the warehouse has this table or view, by its dotted name."""
    return name in relations(con)


def read_macros(con: duckdb.DuckDBPyConnection) -> tuple[str, ...]:
    """The dotted name of every macro in the warehouse, sorted."""
    rows = con.execute(
        "select schema_name || '.' || function_name from duckdb_functions() "
        "where database_name = current_database() and not internal and function_type = 'macro' order by all"
    ).fetchall()
    return tuple(name for (name,) in rows)
