"""Create the tables of seeds in a database."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from debatebench.shared.duckdb_sql import quoted_identifier
from debatebench.shared.errors import SqlModelError
from debatebench.shared.files import shown_path
from debatebench.shared.visible_text import shortened
from debatebench.transform.contracts import standard_types
from debatebench.transform.one_query import execute_one
from debatebench.transform.seeds import LONGEST_SHOWN
from debatebench.transform.sql_model import Seed, SqlModel

if TYPE_CHECKING:
    import duckdb


def create_seed(con: duckdb.DuckDBPyConnection, model: SqlModel, seed: Seed) -> int:
    """Create or replace the table of a seed, and return its number of rows.

    Values are parameters and never become SQL. Raises `SqlModelError` with file and line for a value that does not
    have the type of its column.
    """
    import duckdb

    types = standard_types(con, dict(seed.types), model.properties_file)
    values = [list(column) for column in zip(*seed.rows, strict=True)] or [[] for _ in types]
    cells = ", ".join(f"unnest(?::varchar[]) as {quoted_identifier(name)}" for name in types)
    typed = ", ".join(
        f"cast({quoted_identifier(name)} as {sql_type}) as {quoted_identifier(name)}"
        for name, sql_type in types.items()
    )
    query = f"select {typed} from (select {cells})"
    try:
        result = execute_one(con, query, model.file, values, into=f"create or replace table {model.name} as ")
    except duckdb.Error:
        if (wrong := _wrong_value(con, model, seed, types)) is not None:
            raise SqlModelError(wrong) from None
        raise
    return int(result.fetchall()[0][0])


def _wrong_value(con: duckdb.DuckDBPyConnection, model: SqlModel, seed: Seed, types: Mapping[str, str]) -> str | None:
    """A sentence about the first value that does not have its column's type, if there is one."""
    found: list[tuple[int, str, str]] = []
    # The transaction of `con` has failed with the statement.
    with con.cursor() as other:
        for column, (name, sql_type) in enumerate(types.items()):
            values = [row[column] for row in seed.rows]
            query = (
                "select min(place) from (select unnest(?::varchar[]) as value, unnest(range(?)) as place) "
                f"where value is not null and try_cast(value as {sql_type}) is null"
            )
            ((place,),) = other.execute(query, [values, len(values)]).fetchall()
            if place is not None:
                found.append((seed.lines[place], name, values[place] or ""))
    if not found:
        return None
    line, name, value = min(found)
    return (
        f"{shown_path(model.file)}:{line}: '{shortened(value, LONGEST_SHOWN)}' in {name} is not a "
        f"{types[name].lower()}, which is the column's type in {shown_path(model.properties_file)}."
    )
