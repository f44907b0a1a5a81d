"""A warehouse attached read-only to a database in memory, in which a reader can create tables."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import duckdb

from debatebench.query.safe_query import closing_unless_stuck, open_for_reading
from debatebench.shared.duckdb_sql import NO_EXTENSIONS, limit_memory, quoted_text


@contextmanager
def attached(database: Path, **config: Any) -> Iterator[duckdb.DuckDBPyConnection]:
    """A connection to a database in memory with the warehouse attached as `warehouse`.

    What does not fit into the memory of `limit_memory` is spilled to a temporary folder. A publication meanwhile has no
    effect here: the old file stays open. `config` holds settings of DuckDB. Raises what `safe_query.open_for_query`
    raises.
    """
    with tempfile.TemporaryDirectory(prefix="debatebench-") as spill:
        settings = {"temp_directory": spill, **NO_EXTENSIONS, **config}
        with closing_unless_stuck(duckdb.connect(config=settings)) as con:
            # Checkpoints would only compress tables that are soon dropped, again and again.
            con.execute("set checkpoint_threshold = '1TB'")
            try:
                con.execute(f"attach {quoted_text(str(database.resolve()))} as warehouse (read_only)")
            except duckdb.Error:
                with open_for_reading(database):  # raises one sentence if it cannot be read
                    raise
            # Less than elsewhere, because readers of many rows hold some of them in Python.
            limit_memory(con, database, most=1500)
            yield con
