"""What parsing found in SQL texts, kept in the warehouse (`meta.parsed`): what has not changed is not parsed again.

The warehouse holds no SQL that would be run: a text always comes from its file.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable
from contextlib import suppress
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING

from debatebench.transform import sql_model
from debatebench.transform.sql_model import PARSED, Parsed, Reference

if TYPE_CHECKING:
    import duckdb

_COLUMNS = ["sha256", "parser", "found"]

__all__ = ["recall_parsed", "remember_parsed"]


def recall_parsed(con: duckdb.DuckDBPyConnection) -> None:
    """Add to `PARSED` what this version of the parser left in the warehouse; nothing when it left nothing."""
    columns = con.execute(
        "select column_name from duckdb_columns() where database_name = current_database() "
        "and schema_name = 'meta' and table_name = 'parsed' order by column_index"
    ).fetchall()
    if [name for (name,) in columns] != _COLUMNS:
        return
    rows = con.execute("select sha256, found from meta.parsed where parser = ?", [_parser()]).fetchall()
    for sha256, text in rows:
        # What another hand has written there is not worth more than parsing again.
        with suppress(ValueError, KeyError, TypeError):
            found = json.loads(text)
            references = tuple(Reference(name, line) for name, line in found["references"])
            PARSED[sha256] = Parsed(found["length"], found["tokens_sha256"], references, tuple(found["functions"]))


def remember_parsed(con: duckdb.DuckDBPyConnection, hashes: Iterable[str]) -> None:
    """Replace what the warehouse holds by what `PARSED` says of the texts with these hashes."""
    con.execute(f"create or replace table meta.parsed ({' varchar, '.join(_COLUMNS)} varchar)")
    known = sorted(set(hashes) & PARSED.keys())
    con.execute(
        "insert into meta.parsed select unnest(?::varchar[]), ?, unnest(?::varchar[])",
        [known, _parser(), [_json(PARSED[sha256]) for sha256 in known]],
    )


def _json(found: Parsed) -> str:
    references = [[reference.name, reference.line] for reference in found.references]
    fields = {"length": found.length, "tokens_sha256": found.tokens_sha256, "functions": found.functions}
    return json.dumps({**fields, "references": references})


def _parser() -> str:
    """The parser's identity: sqlglot's version and this package's code around it."""
    code = Path(str(sql_model.__file__)).read_bytes()
    return f"sqlglot {version('sqlglot')} {hashlib.sha256(code).hexdigest()}"
