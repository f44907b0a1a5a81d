"""Landing: records → `raw.*`, one transaction per run, idempotent, checked by counts."""

from __future__ import annotations

import tempfile
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import IO, TYPE_CHECKING

from debatebench.landing.run_settings import run_settings
from debatebench.shared.duckdb_sql import transaction
from debatebench.shared.errors import DamagedDataError
from debatebench.shared.record_columns import column_types
from debatebench.shared.records import TABLES, Record, Row

if TYPE_CHECKING:
    import duckdb

__all__ = [
    "check_rows",
    "create_raw_tables",
    "insert_records",
    "land_missing_settings",
    "land_records",
    "land_rows",
    "land_run_settings",
    "outdated_tables",
    "remove_run",
]

# One NDJSON line holds one row; a speech may be long, and a judge's raw answer longer.
_LARGEST_ROW = 256 * 1024 * 1024


def create_raw_tables(con: duckdb.DuckDBPyConnection) -> None:
    """Create the schema `raw` and every table of `records.TABLES` that is not there yet."""
    con.execute("create schema if not exists raw")
    there = _raw_tables(con)
    for name in (name for name in TABLES if name not in there):
        columns = ", ".join(f"{column} {sql_type}" for column, sql_type in column_types(TABLES[name]).items())
        con.execute(f"create table raw.{name} ({columns})")


def outdated_tables(con: duckdb.DuckDBPyConnection) -> list[str]:
    """The landed tables that are there with other columns than their records have: another version made them."""
    return sorted(name for name in _raw_tables(con) if name not in TABLES or not _is_up_to_date(con, name))


def _is_up_to_date(con: duckdb.DuckDBPyConnection, name: str) -> bool:
    """Whether a landed table has the columns of its record."""
    found = con.execute(f"select name, type from pragma_table_info('raw.{name}')").fetchall()
    return found == list(column_types(TABLES[name]).items())


def _raw_tables(con: duckdb.DuckDBPyConnection) -> set[str]:
    """The tables that are in the schema `raw`."""
    found = con.execute(
        "select table_name from duckdb_tables() where schema_name = 'raw' and database_name = current_database()"
    )
    return {name for (name,) in found.fetchall()}


def remove_run(con: duckdb.DuckDBPyConnection, run_tag: str) -> None:
    """Delete a run's rows from every landed table."""
    for name in TABLES:
        con.execute(f"delete from raw.{name} where run_tag = ?", [run_tag])


def land_records(con: duckdb.DuckDBPyConnection, run_tag: str, records: Iterable[Record]) -> dict[str, int]:
    """Replace everything landed under `run_tag` by `records`, as `land_rows` does."""
    return land_rows(con, run_tag, (record.row() for record in records))


def land_rows(con: duckdb.DuckDBPyConnection, run_tag: str, rows: Iterable[Row]) -> dict[str, int]:
    """Replace everything landed under `run_tag` by `rows`, and return their number per table.

    All rows must carry `run_tag`, exactly one must be a run's, and keys must be unique; otherwise nothing changes
    and `DamagedDataError` says what is wrong. The rows are streamed: memory does not grow with their number.
    """
    with _rows_folder(con) as folder:
        written = _write_rows(folder, run_tag, rows)
        if written.get("runs") != 1:
            raise DamagedDataError(
                f"Run '{run_tag}' has {written.get('runs', 0)} run records instead of one: nothing was landed."
            )
        with transaction(con):
            remove_run(con, run_tag)
            _load_rows(con, folder, run_tag, written)
            return {**written, **land_run_settings(con, run_tag)}


def land_run_settings(con: duckdb.DuckDBPyConnection, run_tag: str) -> dict[str, int]:
    """Replace a run's settings by what its other landed tables say now, and return their number.

    The transaction is the caller's.
    """
    settings = run_settings(con, run_tag)
    items, parts = zip(*settings, strict=True)
    con.execute("delete from raw.run_settings where run_tag = ?", [run_tag])
    con.execute(
        "insert into raw.run_settings select $1, unnest($2::varchar[]), unnest($3::varchar[]), unnest($4::varchar[])",
        [run_tag, items, parts, list(settings.values())],
    )
    check_rows(con, "run_settings", run_tag, len(settings))
    return {"run_settings": len(settings)}


def land_missing_settings(con: duckdb.DuckDBPyConnection) -> None:
    """Land the settings of the runs that a version without `raw.run_settings` landed."""
    without = con.execute("select run_tag from raw.runs anti join raw.run_settings using (run_tag) order by run_tag")
    for (run_tag,) in without.fetchall():
        with transaction(con):
            land_run_settings(con, run_tag)


def insert_records(con: duckdb.DuckDBPyConnection, run_tag: str, records: Iterable[Record]) -> dict[str, int]:
    """Add records to tables that hold none of `run_tag` yet, and return the rows per table.

    The transaction is the caller's. Raises `DamagedDataError` as `land_records` does.
    """
    with _rows_folder(con) as folder:
        written = _write_rows(folder, run_tag, (record.row() for record in records))
        _load_rows(con, folder, run_tag, written)
    return written


@contextmanager
def _rows_folder(con: duckdb.DuckDBPyConnection) -> Iterator[Path]:
    """An empty folder beside the file that the rows go to, where there is as much room, and where the next publication
    clears away what a killed process left.
    """
    database = con.execute("select path from duckdb_databases() where database_name = current_database()").fetchall()
    target = Path(database[0][0] or Path(tempfile.gettempdir(), "debatebench"))
    with tempfile.TemporaryDirectory(dir=target.parent, prefix=f"{target.name}.rows-") as folder:
        yield Path(folder)


def _write_rows(folder: Path, run_tag: str, rows: Iterable[Row]) -> dict[str, int]:
    """Write one NDJSON file per table; DuckDB reads it five times faster than it takes rows from Python."""
    counts: Counter[str] = Counter()
    files: dict[str, IO[bytes]] = {}
    with ExitStack() as stack:
        for table, tag, columns in rows:
            if tag != run_tag:
                raise DamagedDataError(f"A record of {table} carries another run tag than '{run_tag}'.")
            if table not in files:
                files[table] = stack.enter_context(open(folder / f"{table}.ndjson", "wb"))
            files[table].write(columns)
            files[table].write(b"\n")
            counts[table] += 1
    return dict(counts)


def _load_rows(con: duckdb.DuckDBPyConnection, folder: Path, run_tag: str, written: Mapping[str, int]) -> None:
    for name, count in written.items():
        columns = ", ".join(f"{column}: '{sql_type}'" for column, sql_type in column_types(TABLES[name]).items())
        con.execute(
            f"insert into raw.{name} select * from read_json(?, format = 'newline_delimited', records = true, "
            f"columns = {{{columns}}}, maximum_object_size = {_LARGEST_ROW})",
            [str(folder / f"{name}.ndjson")],
        )
        check_rows(con, name, run_tag, count)


def check_rows(con: duckdb.DuckDBPyConnection, name: str, run_tag: str, count: int) -> None:
    """Refuse what was landed in a table when a row got lost on the way or a key comes twice."""
    key = ", ".join(TABLES[name].key)
    landed, keys = con.execute(
        f"select count(*), count(distinct ({key})) from raw.{name} where run_tag = ?", [run_tag]
    ).fetchall()[0]
    if landed != count:
        raise DamagedDataError(f"raw.{name}: {count} records were read for run '{run_tag}', but {landed} arrived.")
    if keys != count:
        twice = con.execute(
            f"select ({key})::varchar from raw.{name} where run_tag = ? group by {key} having count(*) > 1 limit 1",
            [run_tag],
        ).fetchall()[0][0]
        raise DamagedDataError(f"raw.{name}: the key ({key}) = {twice} comes more than once.")
