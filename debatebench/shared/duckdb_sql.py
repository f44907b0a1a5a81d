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

_UNITS = ("bytes", "KiB", "MiB", "GiB", "TiB")


def limit_memory(con: duckdb.DuckDBPyConnection, database: Path, *, least: int = 500, most: int = 2000) -> None:
    """Let `con` take three times the size of the warehouse file, at most `most` MB unless the file is larger still.

    What does not fit is spilled to disk. `least` are the megabytes that a small warehouse gets. A machine with little
    memory keeps DuckDB's own limit, which is lower.
    """
    size = database.stat().st_size // 10**6 if database.exists() else 0
    wanted = max(least, min(3 * size, max(most, size)))
    con.execute("reset memory_limit")
    ((usual,),) = con.execute("select current_setting('memory_limit')").fetchall()
    number, unit = usual.split()
    if float(number) * 1024 ** _UNITS.index(unit) > wanted * 10**6:
        con.execute(f"set memory_limit = '{wanted}MB'")


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
