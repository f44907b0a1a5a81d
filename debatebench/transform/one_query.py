"""Execute SQL that a workspace contains, if DuckDB's own parser reads it as one query that only reads relations.

sqlglot finds the names in a text, but its parser and DuckDB's differ, for instance in what is a comment. So a text
could hide a second statement, a function that reads a file, or a `with` that writes.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from debatebench.shared.errors import SqlModelError
from debatebench.shared.files import shown_path
from debatebench.transform.dbt_words import as_seed, reads_files
from debatebench.transform.sql_model import ROW_FUNCTIONS

if TYPE_CHECKING:
    import duckdb

# Queries that were checked, so that the inputs of many unit tests are checked once.
_CHECKED: set[str] = set()

# All other nodes of a query write: INSERT, UPDATE, DELETE or COPY in a WITH.
_READING = {"SELECT_NODE", "SET_OPERATION_NODE", "RECURSIVE_CTE_NODE", "CTE_NODE"}


def execute_one(
    con: duckdb.DuckDBPyConnection, query: str, file: Path, values: Sequence[Any] | None = None, *, into: str = ""
) -> duckdb.DuckDBPyConnection:
    """Execute `query`, which contains text of `file`, after a check. `into` comes before it: `create view v as `."""
    check_query(con, query, file)
    return con.execute(f"{into}{query}", values)


def check_query(con: duckdb.DuckDBPyConnection, query: str, file: Path) -> None:
    """Raise `SqlModelError` for anything but one SELECT that reads relations and makes rows from its arguments.

    A text that DuckDB cannot read raises the `duckdb.Error` of its parser.
    """
    if query in _CHECKED:
        return
    where, functions, nodes = shown_path(file), set[str](), set[str]()

    def note(node: dict[str, Any]) -> dict[str, Any]:
        kind = str(node.get("type"))
        if kind == "TABLE_FUNCTION":
            functions.add(node["function"]["function_name"].lower())
        elif kind.endswith("_NODE"):
            nodes.add(kind)
        return node

    ((text,),) = con.execute("select json_serialize_sql(?::varchar)", [query]).fetchall()
    try:
        found = json.loads(text, object_hook=note)
    except RecursionError:
        raise SqlModelError(f"{where}: is nested too deeply to be read.") from None
    if found["error"]:
        # The parser's own message explains text that is not SQL; the rest is SQL, but not a SELECT.
        con.extract_statements(query)
        raise SqlModelError(
            f"{where}: DuckDB does not read this as a query that only reads ({found['error_message'].rstrip('.!')})."
        )
    if (count := len(found["statements"])) != 1:
        raise SqlModelError(f"{where}: DuckDB reads this as {count} statements, not as one query.")
    if nodes - _READING:
        raise SqlModelError(f"{where}: a `with` writes; a query can only read.")
    if others := sorted(functions - ROW_FUNCTIONS):
        if reads_files(others[0]):
            raise SqlModelError(f"{where}: '{others[0]}' cannot be read from; {as_seed('')}.")
        raise SqlModelError(
            f"{where}: '{others[0]}' cannot be read from; a query reads raw tables, SQL models and "
            f"{', '.join(sorted(ROW_FUNCTIONS))}."
        )
    _CHECKED.add(query)
