"""The run tags of a warehouse, and the one that a command means."""

from __future__ import annotations

from typing import TYPE_CHECKING

from debatebench.shared.errors import UsageError

if TYPE_CHECKING:
    import duckdb

__all__ = ["NO_RUNS", "landed_tags", "pick_run_tag"]

NO_RUNS = (
    "The warehouse contains no runs yet: `debatebench run` plays one, and `debatebench land` adds the journals and "
    "imports that there are."
)


def landed_tags(con: duckdb.DuckDBPyConnection) -> list[str]:
    """Every run tag in the warehouse, in order; none in a DuckDB file in which nothing has landed."""
    if not con.execute("select 1 from duckdb_tables() where schema_name = 'raw' and table_name = 'runs'").fetchall():
        return []
    return [tag for (tag,) in con.execute("select run_tag from raw.runs order by run_tag").fetchall()]


def pick_run_tag(con: duckdb.DuckDBPyConnection, run_tag: str | None) -> str:
    """`run_tag` if it has landed; for None, the tag that landed last. Raises `UsageError` if there is none."""
    known = landed_tags(con)
    if not known:
        raise UsageError(NO_RUNS)
    if run_tag is None:
        last = con.execute("select run_tag from meta.landings order by landed_at desc, run_tag limit 1").fetchall()
        return str(last[0][0]) if last else known[-1]
    if run_tag not in known:
        raise UsageError(f"No run '{run_tag}' in the warehouse. Known: {', '.join(known)}.")
    return run_tag
