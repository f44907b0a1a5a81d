"""Landing: records → `raw.*`, in one transaction per run, idempotent, and checked by counts."""

from __future__ import annotations

import re
import tempfile
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import IO, NamedTuple

import duckdb

from debatebench.landing.run_settings import run_settings
from debatebench.query.run_tags import landing_columns, landing_order
from debatebench.shared.duckdb_sql import transaction
from debatebench.shared.errors import DamagedDataError
from debatebench.shared.record_columns import column_types
from debatebench.shared.records import TABLES, Row, RunMark

# DuckDB reads a file in buffers that must hold its longest row; if they are small, several threads share a file. With
# this size, few rows are left over for the checkpoint to compress; 16 MiB cost a fifth more CPU and memory.
_USUAL_ROW = 20 * 1024 * 1024
_BUFFER = 1024 * 1024


def create_raw_tables(con: duckdb.DuckDBPyConnection) -> None:
    """Create the schema `raw` and every missing table of `records.TABLES`."""
    con.execute("create schema if not exists raw")
    there = _raw_tables(con)
    for name in (name for name in TABLES if name not in there):
        columns = ", ".join(f"{column} {sql_type}" for column, sql_type in column_types(TABLES[name]).items())
        con.execute(f"create table raw.{name} ({columns})")


def create_landings(con: duckdb.DuckDBPyConnection) -> None:
    """Create the table of landings, or add the columns that earlier versions did not have."""
    con.execute(
        "create schema if not exists meta; create table if not exists meta.landings "
        "(run_tag varchar primary key, source varchar, content_sha256 varchar, rows bigint, landed_at timestamp); "
        "alter table meta.landings add column if not exists source_size bigint; "
        "alter table meta.landings add column if not exists annotations varchar"
    )
    columns = landing_columns(con)
    if "landing" not in columns:
        con.execute("alter table meta.landings add column landing bigint")
        con.execute(
            "update meta.landings set landing = numbered.landing from (select run_tag, "
            f"row_number() over (order by {landing_order(columns)}) as landing from meta.landings) as numbered "
            "where landings.run_tag = numbered.run_tag"
        )


def _raw_tables(con: duckdb.DuckDBPyConnection) -> set[str]:
    """The tables in the schema `raw`."""
    found = con.execute(
        "select table_name from duckdb_tables() where schema_name = 'raw' and database_name = current_database()"
    )
    return {name for (name,) in found.fetchall()}


def remove_run(con: duckdb.DuckDBPyConnection, run_tag: str, *, except_from: Collection[str] = ()) -> None:
    """Delete a run's rows from every table that its source fills, except those in `except_from`."""
    for name in TABLES:
        if name not in (RunMark.table, *except_from):
            con.execute(f"delete from raw.{name} where run_tag = ?", [run_tag])


def remove_landed(con: duckdb.DuckDBPyConnection, run_tag: str) -> None:
    """Delete the same rows, and the record of the run's landing."""
    with transaction(con):
        remove_run(con, run_tag)
        con.execute("delete from meta.landings where run_tag = ?", [run_tag])


class Query(NamedTuple):
    """A query ($run_tag, $paths) of rows that DuckDB reads from files as they are, and the table that they land in."""

    table: str
    sql: str
    paths: Sequence[Path]


class RowFiles:
    """Rows to land: one NDJSON file per table, which DuckDB reads five times faster than rows from Python.

    Rows without JSON are only counted, because a `Query` reads them. The caller owns the folder, and calls `close`
    before the rows land.
    """

    def __init__(self, folder: Path, run_tag: str) -> None:
        self.folder = folder
        self.run_tag = run_tag
        self.counts: Counter[str] = Counter()
        self.longest = 0
        self._files: dict[str, IO[bytes]] = {}

    def write(self, row: Row) -> None:
        """Write a row; raises `DamagedDataError` if it carries another run tag."""
        table, tag, columns, lines = row
        if tag != self.run_tag:
            raise DamagedDataError(f"A record of {table} has a run tag other than '{self.run_tag}'.")
        self.counts[table] += lines
        if not columns:
            return
        file = self._files.get(table)
        if file is None:
            file = self._files[table] = open(self.path(table), "wb", buffering=_BUFFER)  # noqa: SIM115
        file.write(columns + b"\n")
        if len(columns) > self.longest:
            self.longest = len(columns)

    def path(self, table: str) -> Path:
        """The file of a table, which is there if rows were written to it."""
        return self.folder / f"{table}.ndjson"

    def clear(self) -> None:
        """Forget what was written."""
        self.close()
        for table in self._files:
            self.path(table).unlink()
        self._files.clear()
        self.counts.clear()

    def write_all(self, rows: Iterable[Row]) -> None:
        """Write every row, as `write` does."""
        for row in rows:
            self.write(row)

    def close(self) -> None:
        """Write all buffered rows and close the files."""
        for file in self._files.values():
            file.close()


def land_rows(
    con: duckdb.DuckDBPyConnection,
    run_tag: str,
    rows: Iterable[Row],
    *,
    added_to: Collection[str] = (),
    queries: Collection[Query] = (),
) -> dict[str, int]:
    """Land `rows` as `land_files` does. Rows are streamed: memory does not grow with their number."""
    with _rows_folder(con) as folder:
        files = RowFiles(folder, run_tag)
        try:
            files.write_all(rows)
        finally:
            files.close()
        return land_files(con, files, added_to=added_to, queries=queries)


def land_run_settings(con: duckdb.DuckDBPyConnection, run_tag: str) -> dict[str, int]:
    """Replace a run's settings with those that follow from its other landed tables, and return their number.

    The caller opens the transaction.
    """
    settings = run_settings(con, run_tag)
    items, parts = zip(*settings, strict=True)
    con.execute("delete from raw.run_settings where run_tag = ?", [run_tag])
    con.execute(
        "insert into raw.run_settings select $1, unnest($2::varchar[]), unnest($3::varchar[]), unnest($4::varchar[])",
        [run_tag, items, parts, list(settings.values())],
    )
    _check_rows(con, "run_settings", run_tag, len(settings))
    return {"run_settings": len(settings)}


def land_missing_settings(con: duckdb.DuckDBPyConnection) -> None:
    """Land the settings of runs that landed under a version without `raw.run_settings`."""
    without = con.execute("select run_tag from raw.runs anti join raw.run_settings using (run_tag) order by run_tag")
    for (run_tag,) in without.fetchall():
        with transaction(con):
            land_run_settings(con, run_tag)


def land_files(
    con: duckdb.DuckDBPyConnection,
    files: RowFiles,
    *,
    added_to: Collection[str] = (),
    queries: Collection[Query] = (),
) -> dict[str, int]:
    """Replace everything landed under a run tag, and return the resulting number of rows per table.

    Tables in `added_to` keep their rows. `queries` are those of the rows that `files` only counted. There must be
    exactly one row of a run, and keys must be unique; otherwise nothing changes and `DamagedDataError` says what is
    wrong.
    """
    run_tag = files.run_tag
    if files.counts["runs"] != 1:
        raise DamagedDataError(
            f"Run '{run_tag}' has {files.counts['runs']} run records instead of one; nothing was landed."
        )
    with transaction(con):
        remove_run(con, run_tag, except_from=added_to)
        expected = Counter({name: _count(con, name, run_tag) for name in added_to}) + files.counts
        _load(con, files)
        for query in queries:
            paths = [_pattern_of(path) for path in query.paths]
            con.execute(f"insert into raw.{query.table} by name {query.sql}", {"run_tag": run_tag, "paths": paths})
        for name, count in expected.items():
            _check_rows(con, name, run_tag, count)
        return {**expected, **land_run_settings(con, run_tag)}


@contextmanager
def _rows_folder(con: duckdb.DuckDBPyConnection) -> Iterator[Path]:
    """An empty folder next to the file that the rows go to: its disk has enough room, and the next publication removes
    what a killed process left there.
    """
    database = con.execute("select path from duckdb_databases() where database_name = current_database()").fetchall()
    target = Path(database[0][0] or Path(tempfile.gettempdir(), "debatebench"))
    with tempfile.TemporaryDirectory(dir=target.parent, prefix=f"{target.name}.rows-") as folder:
        yield Path(folder)


def _count(con: duckdb.DuckDBPyConnection, name: str, run_tag: str) -> int:
    ((count,),) = con.execute(f"select count(*) from raw.{name} where run_tag = ?", [run_tag]).fetchall()
    return int(count)


def _load(con: duckdb.DuckDBPyConnection, files: RowFiles) -> None:
    longest = max(files.longest + 1, _USUAL_ROW)
    for name in files.counts:
        if not files.path(name).exists():
            continue
        columns = ", ".join(f"{column}: '{sql_type}'" for column, sql_type in column_types(TABLES[name]).items())
        con.execute(
            f"insert into raw.{name} select * from read_json(?, format = 'newline_delimited', records = true, "
            f"compression = 'none', hive_partitioning = false, columns = {{{columns}}}, "
            f"maximum_object_size = {longest})",
            [str(files.path(name))],
        )


def _pattern_of(path: Path) -> str:
    """The pattern for DuckDB that matches this path alone."""
    return re.sub(r"[*?\[]", r"[\g<0>]", str(path))


def _check_rows(con: duckdb.DuckDBPyConnection, name: str, run_tag: str, count: int) -> None:
    """Raise `DamagedDataError` if a row of a table was lost on the way or a key is repeated."""
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
        raise DamagedDataError(f"raw.{name}: the key ({key}) = {twice} occurs more than once.")
