"""Rows of raw tables → the records from which they were made."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

from debatebench.shared.json_bytes import from_json
from debatebench.shared.record_columns import column_types
from debatebench.shared.records import Record

if TYPE_CHECKING:
    import duckdb

__all__ = ["landed_records"]

_RecordT = TypeVar("_RecordT", bound=Record)


def landed_records(con: duckdb.DuckDBPyConnection, record: type[_RecordT], run_tag: str) -> list[_RecordT]:
    """A run's records from one table, in the order of its key."""
    types = column_types(record)
    rows = con.execute(
        f"select {', '.join(types)} from raw.{record.table} where run_tag = ? order by {', '.join(record.key)}",
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
