"""The run tags of a warehouse, and the one that a command means."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING

from debatebench.shared.errors import UsageError
from debatebench.shared.workspace import check_known_run

if TYPE_CHECKING:
    import duckdb

NO_RUNS = (
    "The warehouse contains no runs yet: `debatebench run` plays one, and `debatebench land` adds the journals and "
    "imports that there are."
)


def landed_tags(con: duckdb.DuckDBPyConnection) -> list[str]:
    """Every run tag in the warehouse, in order; none in a DuckDB file in which nothing has landed."""
    if not con.execute("select 1 from duckdb_tables() where schema_name = 'raw' and table_name = 'runs'").fetchall():
        return []
    return [tag for (tag,) in con.execute("select run_tag from raw.runs order by run_tag").fetchall()]


def landing_columns(con: duckdb.DuckDBPyConnection) -> frozenset[str]:
    """The columns of `meta.landings`; none in a DuckDB file in which nothing has landed."""
    rows = con.execute(
        "select column_name from duckdb_columns() where schema_name = 'meta' and table_name = 'landings' "
        "and database_name = current_database()"
    ).fetchall()
    return frozenset(name for (name,) in rows)


def landing_order(columns: Collection[str]) -> str:
    """What to sort `meta.landings` by, so that the last landing comes last: a number, as clocks may be wrong.

    Earlier versions had only the time.
    """
    return f"{'landing, ' if 'landing' in columns else ''}landed_at, run_tag desc"


def pick_run_tag(con: duckdb.DuckDBPyConnection, run_tag: str | None) -> str:
    """`run_tag` if it has landed; for None, the tag that landed last and does not judge or probe stored debates.

    Raises `UsageError` if there is none.
    """
    known = landed_tags(con)
    if not known:
        raise UsageError(NO_RUNS)
    if run_tag is None:
        return _last_run_tag(con, known)
    check_known_run(run_tag, known)
    return run_tag


def _last_run_tag(con: duckdb.DuckDBPyConnection, known: Sequence[str]) -> str:
    rows = con.execute(
        "select run_tag from meta.landings inner join raw.runs using (run_tag) where source_run_tag is null "
        f"order by {landing_order(landing_columns(con))}"
    ).fetchall()
    if not rows:
        raise UsageError(
            f"Every run in the warehouse judges stored debates; name one with `--run-tag`. Known: {', '.join(known)}."
        )
    return str(rows[-1][0])
