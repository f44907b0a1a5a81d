"""What every writer of DuckDB statements needs: a transaction, text as a literal, and a quoted name."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import duckdb

__all__ = ["quoted_identifier", "quoted_text", "transaction"]


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
