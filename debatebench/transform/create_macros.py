"""Create macros in a database, and keep the schema `macros` of the warehouse up to date."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

from debatebench.shared.duckdb_sql import transaction
from debatebench.shared.errors import SqlModelError
from debatebench.shared.files import shown_path
from debatebench.transform.expansion import expand, own_variables
from debatebench.transform.macros import Macro, macro_definitions
from debatebench.transform.one_query import check_query
from debatebench.transform.sql_model import MACROS

if TYPE_CHECKING:
    import duckdb


def create_macros(con: duckdb.DuckDBPyConnection, macros: Mapping[str, Macro], *, stand_alone: bool = False) -> None:
    """Create the macros, given in dependency order, in the current database; existing macros are replaced.

    With `stand_alone`, no macro calls another one, so that macros work when the file is attached under another name.

    Raises `SqlModelError` for a macro with the name of a DuckDB function, and for what DuckDB refuses.
    """
    import duckdb

    if not macros:
        return
    _check_names(con, macros.values())
    con.execute(f"create schema if not exists {MACROS}")
    for macro in macros.values():
        expression = own_variables(macro)
        expression = expand(expression, macros) if stand_alone else expression
        try:
            check_query(con, f"select {expression}\n", macro.file)
            con.execute(f"create or replace macro {macro.signature} as {expression}\n")
        except duckdb.Error as error:
            message = " ".join(re.split(r"\n\n|\nLINE ", str(error))[0].split())
            raise SqlModelError(f"Macro {macro.name} ({shown_path(macro.file)}) failed: {message}") from None


def _check_names(con: duckdb.DuckDBPyConnection, macros: Iterable[Macro]) -> None:
    by_name = {macro.name.partition(".")[2]: macro for macro in macros}
    taken = con.execute(
        "select min(function_name) from duckdb_functions() where internal and list_contains(?, function_name)",
        [list(by_name)],
    ).fetchall()[0][0]
    if taken is not None:
        raise SqlModelError(
            f"{shown_path(by_name[taken].file)}: '{taken}' is a function of DuckDB; choose another name."
        )


def update_macros(con: duckdb.DuckDBPyConnection, macros: Mapping[str, Macro], *, drop_others: bool) -> bool:
    """Bring the schema `macros` of the warehouse up to date, and record its content in `meta.macros`.

    Returns whether it contains exactly these macros.
    """
    own = macro_definitions(macros)
    there: dict[str, str] = dict(con.execute("select name, definition from meta.macros").fetchall())
    wanted = own if drop_others else there | own
    if there == wanted:
        return wanted == own
    with transaction(con):
        create_macros(con, macros, stand_alone=True)
        for name in sorted(there.keys() - wanted.keys()):
            con.execute(f"drop macro if exists {name}")
        con.execute("delete from meta.macros")
        names = sorted(wanted)
        con.execute(
            "insert into meta.macros (name, definition) select unnest(?::varchar[]), unnest(?::varchar[])",
            [names, [wanted[name] for name in names]],
        )
    return wanted == own
