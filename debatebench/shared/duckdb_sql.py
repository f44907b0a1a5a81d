"""What every writer of DuckDB statements needs: a transaction, and text as a literal."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import duckdb

__all__ = ["quoted_text", "transaction"]


@contextmanager
def transaction(con: duckdb.DuckDBPyConnection) -> Iterator[None]:
    """Everything in the block, or nothing: after a failed statement a commit would succeed and keep nothing."""
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
