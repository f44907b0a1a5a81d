"""What every writer of DuckDB statements needs: a transaction, text as a literal, and a quoted name."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import duckdb

NO_EXTENSIONS: dict[str, bool] = {
    "autoinstall_known_extensions": False,
    "autoload_known_extensions": False,
    "allow_community_extensions": False,
    "allow_persistent_secrets": False,
    "python_enable_replacements": False,
}
"""Settings of a database that runs SQL from a workspace: no extension is loaded, and no Python variable is a table."""


def close_to_outside(con: duckdb.DuckDBPyConnection, *, besides: Path | None = None) -> None:
    """From here on, no SQL on this database reads or writes any file but its own, loads anything or changes a setting.

    Databases that are attached stay so, databases in memory can still be attached, and data still spills to disk.
    `besides` is a folder that stays open.
    """
    if besides is not None:
        con.execute(f"set allowed_directories = [{quoted_text(str(besides))}]")
    con.execute("set enable_external_access = false; set lock_configuration = true")


@contextmanager
def transaction(con: duckdb.DuckDBPyConnection) -> Iterator[None]:
    """Commit everything in the block or nothing: after a failed statement, a commit would succeed but keep nothing."""
    con.execute("begin")
    try:
        yield
        con.execute("commit")
    except BaseException:
        con.execute("rollback")
        raise


def quoted_text(text: str) -> str:
    """A text literal, for statements that take no parameters."""
    return "'" + text.replace("'", "''") + "'"


def quoted_identifier(name: str) -> str:
    """The name of a column, table or database as SQL text."""
    return '"' + name.replace('"', '""') + '"'
