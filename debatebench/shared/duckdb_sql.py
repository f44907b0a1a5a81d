"""What every writer of DuckDB statements needs: a transaction, text as a literal, and a quoted name."""

from __future__ import annotations

import re
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


_UNKNOWN_COLUMN = re.compile(r'Referenced column "(.*)" not found')
_BEFORE_TEXT = re.compile(r"(?:[=<>]|\b(?:i?like|in\s*\([^()]*))\s*$", re.IGNORECASE)


def missing_quotes(message: str) -> str:
    """A hint for DuckDB's message about an unknown column that is compared, as text without quotes would be."""
    unknown = _UNKNOWN_COLUMN.search(message)
    lines = message.splitlines()
    place = next((number for number, line in enumerate(lines[:-1]) if line.startswith("LINE ")), None)
    if unknown is None or place is None or not _BEFORE_TEXT.search(lines[place][: lines[place + 1].find("^")]):
        return ""
    return f" If it is text, put it in single quotes: {quoted_text(unknown[1])}."
