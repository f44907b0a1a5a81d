"""A query's result as a Parquet file, with the types of the query.

The connection of a query cannot write files. So its rows go, as Arrow batches, to a second connection, which is in
memory, can access only these rows, and writes the file.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import duckdb
from duckdb.sqltypes import DuckDBPyType

from debatebench.query.duckdb_errors import sql_errors
from debatebench.query.safe_query import check_limits, in_parentheses, one_select, open_for_reading, within
from debatebench.shared.carried_types import cast, type_in_arrow, type_in_file
from debatebench.shared.duckdb_sql import quoted_identifier, quoted_text
from debatebench.shared.errors import UsageError
from debatebench.shared.files import not_written, replacing_file
from debatebench.shared.result_formats import unique_names


def write_parquet(
    database: Path | duckdb.DuckDBPyConnection,
    sql: str,
    params: Mapping[str, Any] | None,
    path: Path,
    *,
    limit: int | None = None,
    timeout_s: float | None = 60.0,
) -> int:
    """Write the rows of one SELECT (at most `limit`) to `path`, whole or not at all, and return their number.

    The rules and errors are those of `run_query`; the result must fit into the memory that the query may use. Types
    are kept (decimals, times, lists, structs, JSON, UUID), except that HUGEINT becomes DECIMAL(38,0), and BIT, BIGNUM,
    ENUM, INTERVAL, TIME WITH TIME ZONE and UNION become text. Also raises `DebatebenchError` if the file cannot be
    written.
    """
    if isinstance(database, Path):
        with open_for_reading(database) as con:
            return write_parquet(con, sql, params, path, limit=limit, timeout_s=timeout_s)
    check_limits(limit, timeout_s)
    if path.exists() and not path.is_file():
        kind = "folder" if path.is_dir() else "pipe or device"
        raise UsageError(f"{path} is a {kind}; Parquet needs the name of a file.")
    with sql_errors(timeout_s):
        statement, values = one_select(database, sql, params or {})
        # DuckDB 2.0 can hang if writing is interrupted or its source fails, so the query finishes first.
        rows, in_file = within(timeout_s, lambda _: _run(database, statement, values, limit), database)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with replacing_file(path) as new:
            count = _write(rows, in_file, new.absolute())
    except OSError as error:
        raise not_written(path, error) from error
    return count


def _run(
    con: duckdb.DuckDBPyConnection, statement: duckdb.Statement, values: dict[str, Any] | None, limit: int | None
) -> tuple[duckdb.DuckDBPyRelation, list[str]]:
    """Run the statement once; return its rows in types that Arrow can carry, and their types in the file."""
    relation = con.sql(statement, params=values)
    names, types = unique_names(relation.columns), [str(type_) for type_ in relation.types]
    carried = [type_in_arrow(type_) for type_ in relation.types]
    in_file = [type_in_file(type_) for type_ in relation.types]
    if (names, carried) != (relation.columns, types):
        body = in_parentheses(con, statement.query)
        relation = con.sql(f"select {_columns(names, types, carried)} from {body}", params=values)
    if limit is not None:
        relation = relation.limit(limit)
    return relation.materialize(), in_file


def _write(rows: duckdb.DuckDBPyRelation, in_file: list[str], path: Path) -> int:
    """Write the rows to the file, and return their number. Raises `OSError` if that fails."""
    columns = _columns(rows.columns, [str(type_) for type_ in rows.types], in_file)
    with duckdb.connect(config={"temp_directory": "", "python_enable_replacements": False}) as writer:
        writer.register("rows", rows.__arrow_c_stream__())
        to = quoted_text(str(path))
        try:
            written = writer.execute(f"copy (select {columns} from rows) to {to} (format parquet, compression zstd)")
            count = int(written.fetchall()[0][0])
        except duckdb.IOException as error:
            number = re.search(r'"errno":"(\d+)"', str(error))
            reason = os.strerror(int(number[1])) if number else str(error).splitlines()[0]
            raise OSError(0, reason) from error
    return count


def _columns(names: list[str], types: list[str], wanted: list[str]) -> str:
    """A select list that casts the columns to the wanted types."""
    items = []
    for number, (name, have, want) in enumerate(zip(names, types, wanted, strict=True), 1):
        items.append(f"{cast(f'#{number}', have, want)} as {quoted_identifier(name)}")
    return ", ".join(items)


def as_in_file(column: str, type_: DuckDBPyType) -> str:
    """SQL that converts a column (given as SQL) of this type to its type in a Parquet file; see `write_parquet`."""
    return cast(column, str(type_), type_in_file(type_))
