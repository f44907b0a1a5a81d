"""The landed rows of a warehouse file as Parquet, in the folders that `debatebench export --select 'raw.*'` writes."""

from __future__ import annotations

from pathlib import Path
from urllib.parse import quote

import duckdb


def landed_files(database: Path, folder: Path) -> Path:
    """Write every landed table, run by run, and return the folder."""
    with duckdb.connect(str(database), read_only=True) as con:
        tables = con.execute("select table_name from duckdb_tables() where schema_name = 'raw'").fetchall()
        tags = con.execute("select run_tag from raw.runs order by all").fetchall()
        for (table,) in tables:
            for (tag,) in tags:
                path = folder / "raw" / table / f"run_tag={quote(tag, safe='')}" / "data.parquet"
                path.parent.mkdir(parents=True, exist_ok=True)
                query = f"select * exclude (run_tag) from raw.{table} where run_tag = ?"
                con.execute(f"copy ({query}) to '{path}' (format parquet)", [tag])
    return folder
