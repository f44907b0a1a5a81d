"""Results of parsing SQL texts, stored in the warehouse (`meta.parsed`): an unchanged text is not parsed again.

The warehouse does not store SQL to run: a text always comes from its file.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from contextlib import suppress
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from debatebench.transform import dbt_words, macros, sql_model
from debatebench.transform.sql_model import PARSED, Parsed

if TYPE_CHECKING:
    import duckdb

_COLUMNS = ["sha256", "parser", "found"]


def recall_parsed(con: duckdb.DuckDBPyConnection) -> None:
    """Add to `PARSED` what this version of the parser stored in the warehouse, if anything."""
    columns = con.execute(
        "select column_name from duckdb_columns() where database_name = current_database() "
        "and schema_name = 'meta' and table_name = 'parsed' order by column_index"
    ).fetchall()
    if [name for (name,) in columns] != _COLUMNS:
        return
    rows = con.execute("select sha256, found from meta.parsed where parser = ?", [_parser()]).fetchall()
    for sha256, text in rows:
        # If the stored content is not readable, the texts are parsed again.
        with suppress(msgspec.MsgspecError):
            PARSED[sha256] = msgspec.json.decode(text, type=Parsed)


def remember_parsed(con: duckdb.DuckDBPyConnection, hashes: Iterable[str]) -> None:
    """Replace the stored results by those in `PARSED` for the texts with these hashes."""
    con.execute(f"create or replace table meta.parsed ({' varchar, '.join(_COLUMNS)} varchar)")
    known = sorted(set(hashes) & PARSED.keys())
    con.execute(
        "insert into meta.parsed select unnest(?::varchar[]), ?, unnest(?::varchar[])",
        [known, _parser(), [msgspec.json.encode(PARSED[sha256]).decode() for sha256 in known]],
    )


def _parser() -> str:
    """The parser's identity: sqlglot's version and this package's code around it."""
    files = [Path(str(module.__file__)) for module in (sql_model, macros, dbt_words)]
    code = b"".join(file.read_bytes() for file in (*files, Path(__file__).with_name("needed_rows.py")))
    return f"sqlglot {version('sqlglot')} {hashlib.sha256(code).hexdigest()}"
