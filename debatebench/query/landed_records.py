"""Rows of raw tables → the records from which they were made."""

from __future__ import annotations

from typing import TypeVar

import duckdb

from debatebench.query.run_tags import pick_run_tag
from debatebench.shared.errors import UsageError
from debatebench.shared.json_bytes import from_json
from debatebench.shared.record_columns import column_types
from debatebench.shared.records import TABLES, Record

_RecordT = TypeVar("_RecordT", bound=Record)


def landed_records(
    con: duckdb.DuckDBPyConnection, record: type[_RecordT], run_tag: str, relation: str | None = None
) -> list[_RecordT]:
    """A run's records from one table, in the order of its key; or from a `relation` with the same columns."""
    types = column_types(record)
    relation = relation or f"raw.{record.table}"
    rows = con.execute(
        f"select {', '.join(types)} from {relation} where run_tag = ? order by {', '.join(record.key)}",
        [run_tag],
    ).fetchall()
    is_json = [sql_type == "JSON" for sql_type in types.values()]
    return [
        record.model_validate(
            {
                name: from_json(value.encode()) if encoded and value is not None else value
                for name, value, encoded in zip(types, row, is_json, strict=True)
            }
        )
        for row in rows
    ]


def landed_run(con: duckdb.DuckDBPyConnection, run_tag: str) -> str:
    """The tag of a run whose records can be read.

    Raises `UsageError` if it has not landed, or if another version created the landed tables.
    """
    pick_run_tag(con, run_tag)
    if _raw_columns(con) != {name: _columns_of(name) for name in TABLES}:
        raise UsageError("Another version of debatebench created the warehouse; run `debatebench build` first.")
    return run_tag


def outdated_tables(con: duckdb.DuckDBPyConnection) -> list[str]:
    """The landed tables whose columns differ from those of their records, because another version created them."""
    found = _raw_columns(con).items()
    return [name for name, columns in found if name not in TABLES or columns != _columns_of(name)]


def _columns_of(table: str) -> list[tuple[str, str]]:
    return list(column_types(TABLES[table]).items())


def _raw_columns(con: duckdb.DuckDBPyConnection) -> dict[str, list[tuple[str, str]]]:
    """Landed table → its columns as (name, DuckDB type), in order."""
    rows = con.execute(
        "select table_name, column_name, data_type from duckdb_columns() where schema_name = 'raw' "
        "and database_name = current_database() order by table_name, column_index"
    )
    found: dict[str, list[tuple[str, str]]] = {}
    for name, column, sql_type in rows.fetchall():
        found.setdefault(name, []).append((column, sql_type))
    return found
