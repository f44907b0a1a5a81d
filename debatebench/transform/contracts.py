"""Compare the columns of a SQL model with those that its YAML describes."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from debatebench.shared.errors import SqlModelError
from debatebench.transform.one_query import check_query
from debatebench.transform.sql_model import SqlModel

if TYPE_CHECKING:
    import duckdb

    from debatebench.transform.lineage.descriptions import Descriptions

# The way DuckDB writes a type does not change within a process.
_STANDARD: dict[str, str] = {}


def actual_columns(con: duckdb.DuckDBPyConnection, relation: str) -> dict[str, str]:
    """Column → DuckDB type of a table, view or parenthesised query."""
    return {row[0]: row[1] for row in con.execute(f"describe select * from {relation}").fetchall()}


def standard_types(con: duckdb.DuckDBPyConnection, types: dict[str, str], file: Path) -> dict[str, str]:
    """The same types as DuckDB writes them: `int` → `INTEGER`. Raises `SqlModelError` for one that does not exist."""
    import duckdb

    unknown = sorted(set(types.values()) - _STANDARD.keys())
    if unknown:
        query = f"select {', '.join(f'null::{sql_type} as c{i}' for i, sql_type in enumerate(unknown))}"
        try:
            check_query(con, query, file)
            found = con.execute(f"describe {query}").fetchall()
        except duckdb.Error as error:
            message = str(error).split("\n")[0]
            raise SqlModelError(f"{file}: DuckDB does not know one of the data types ({message}).") from None
        if [row[0] for row in found] != [f"c{i}" for i in range(len(unknown))]:
            raise SqlModelError(f"{file}: one of the data types is more than a type: {', '.join(unknown)}.")
        _STANDARD.update((sql_type, row[1]) for sql_type, row in zip(unknown, found, strict=True))
    return {name: _STANDARD[sql_type] for name, sql_type in types.items()}


def columns_of_all(con: duckdb.DuckDBPyConnection) -> dict[str, dict[str, str]]:
    """Dotted name → column → DuckDB type, in column order, of every table and view of the database, from one query."""
    rows = con.execute(
        "select schema_name || '.' || table_name, column_name, data_type from duckdb_columns() "
        "where database_name = current_database() order by schema_name, table_name, column_index"
    ).fetchall()
    found: dict[str, dict[str, str]] = {}
    for relation, column, data_type in rows:
        found.setdefault(relation, {})[column] = data_type
    return found


def contract_breaches(con: duckdb.DuckDBPyConnection, model: SqlModel, columns: Mapping[str, str]) -> list[str]:
    """What breaks an enforced contract: columns that are missing, not promised, without a type, or of another type.

    `columns` are the columns that the SQL model has, with their DuckDB types.
    """
    promised = {column.name.lower(): column.data_type for column in model.properties.columns}
    untyped = [f"{name} has no data_type" for name, data_type in promised.items() if data_type is None]
    found = {name.lower(): data_type for name, data_type in columns.items()}
    surplus = [f"{name} is not in the contract" for name in found if name not in promised]
    return [*untyped, *surplus, *_differences(con, model, found)]


def description_gaps(
    con: duckdb.DuckDBPyConnection, model: SqlModel, columns: Mapping[str, str], descriptions: Descriptions
) -> list[str]:
    """What is wrong with its columns: no description, a wrong name or type, or not there although the YAML has it."""
    found = {name.lower(): data_type for name, data_type in columns.items()}
    silent = [f"{name} is not described" for name in found if not descriptions.text(model.name, name)]
    return [*silent, *descriptions.project.domain.misnamed_columns(model, found), *_differences(con, model, found)]


def _differences(con: duckdb.DuckDBPyConnection, model: SqlModel, found: dict[str, str]) -> list[str]:
    """Columns that are in the YAML but not in the SQL model, and types that differ."""
    named = {column.name.lower(): column.data_type for column in model.properties.columns}
    # Most types are spelled as DuckDB writes them, up to case and a space; for the others it is asked.
    unlike = {name: t for name, t in named.items() if t and t.upper().replace(", ", ",") != found.get(name)}
    types = standard_types(con, unlike, model.properties_file)
    missing = [f"{name} is missing" for name in named if name not in found]
    other = [
        f"{name} is {found[name]} instead of {data_type}"
        for name, data_type in types.items()
        if name in found and found[name] != data_type
    ]
    return [*missing, *other]
