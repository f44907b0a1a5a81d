"""The run tags of a warehouse, and the one that a command means."""

from __future__ import annotations

from collections.abc import Collection
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


def default_order(con: duckdb.DuckDBPyConnection) -> list[str]:
    """The runs that a command or page may mean when none is named, the one that it means first.

    Only runs that hold debates of their own count, so that a run that judges or probes stored debates never takes the
    place of a tournament, and none that is excluded. The run that was pinned last comes first, then other pinned
    runs, then those with a valid verdict, and of these the one that landed last.
    """
    columns = landing_columns(con)
    # Earlier versions recorded neither landings nor marks.
    landings = f"select run_tag, row_number() over (order by {landing_order(columns)}) as place from meta.landings"
    made = "select run_tag, row_number() over (order by created_at nulls first, run_tag desc) as place from raw.runs"
    marks = "raw.run_marks" if _has_marks(con) else "(select '' as run_tag, false as is_excluded, 0 as pin_number)"
    rows = con.execute(
        f"""
        select run_tag
        from raw.runs
        left join ({landings if columns else made}) as landings using (run_tag)
        left join {marks} as marks using (run_tag)
        where source_run_tag is null and not coalesce(marks.is_excluded, false)
        order by
            marks.pin_number desc nulls last,
            exists (from raw.verdicts where verdicts.run_tag = runs.run_tag and verdicts.is_valid) desc,
            landings.place desc
        """
    ).fetchall()
    return [tag for (tag,) in rows]


def is_pinned(con: duckdb.DuckDBPyConnection, run_tag: str) -> bool:
    """Whether a run is pinned."""
    return _is_marked(con, run_tag, "pin_number is not null")


def _is_marked(con: duckdb.DuckDBPyConnection, run_tag: str, condition: str) -> bool:
    """Whether a run has a mark for which the condition holds."""
    if not _has_marks(con):
        return False
    return bool(con.execute(f"from raw.run_marks where run_tag = ? and {condition}", [run_tag]).fetchall())


def _has_marks(con: duckdb.DuckDBPyConnection) -> bool:
    found = con.execute(
        "select 1 from duckdb_tables() where schema_name = 'raw' and table_name = 'run_marks' "
        "and database_name = current_database()"
    )
    return bool(found.fetchall())


def check_not_archived(con: duckdb.DuckDBPyConnection, run_tag: str) -> None:
    """Raise `UsageError` for a run that the warehouse does not contain because it is archived."""
    if _is_marked(con, run_tag, "is_archived") and run_tag not in landed_tags(con):
        raise UsageError(f"Run '{run_tag}' is archived; `debatebench runs restore {run_tag}` brings it back.")


def check_landed(con: duckdb.DuckDBPyConnection, run_tag: str) -> None:
    """Raise `UsageError` for a run that is not in the warehouse, and say so if it is archived."""
    check_not_archived(con, run_tag)
    if not (known := landed_tags(con)):
        raise UsageError(NO_RUNS)
    check_known_run(run_tag, known)


def pick_run_tag(con: duckdb.DuckDBPyConnection, run_tag: str | None) -> str:
    """`run_tag` if it has landed; for None, the first of `default_order`. Raises `UsageError` if there is none."""
    if run_tag is not None:
        check_landed(con, run_tag)
        return run_tag
    if not (known := landed_tags(con)):
        raise UsageError(NO_RUNS)
    order = default_order(con)
    if not order:
        raise UsageError(
            "Every run in the warehouse judges stored debates or is excluded; name one by its tag. "
            f"Known: {', '.join(known)}."
        )
    return order[0]
