"""Reading and landing imports in tests."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

import duckdb
from paths import DATA

from debatebench.landing.importers import importer_of
from debatebench.landing.importers.base import BadRecord, Imported
from debatebench.landing.importers.kept import land_import, read_import
from debatebench.landing.importers.store import ImportReport, importing
from debatebench.landing.land import create_raw_tables, land_rows
from debatebench.shared.records import TABLES, Record, Row, Run
from debatebench.shared.workspace import Workspace

FIXTURES = DATA / "imports"
ORIGINAL = FIXTURES / "original" / "debates.jsonl"
DEBATEFLOW = FIXTURES / "debateflow"
PANELBENCH = FIXTURES / "panelbench"

RecordT = TypeVar("RecordT", bound=Record)


def units(format_name: str, path: Path) -> list[Imported]:
    """Every unit of a source without bad records."""
    found = list(importer_of(format_name).read(path, "t", "rows"))
    assert [unit for unit in found if isinstance(unit, BadRecord)] == []
    return [unit for unit in found if isinstance(unit, Imported)]


def rows(format_name: str, path: Path, kind: type[RecordT]) -> list[RecordT]:
    """Every record of one kind in a source without bad records."""
    found = (record for unit in units(format_name, path) for record in records_of(unit))
    return [record for record in found if isinstance(record, kind)]


def records_of(unit: Imported) -> list[Record]:
    """All records of a unit."""
    return [*unit.shared, *as_records(unit.rows(0))]


def imported_run(format_name: str, path: Path) -> list[Record]:
    """Every record of a source without bad records, as run `t`."""
    found = {
        (record.table, record.key_values()): record for unit in units(format_name, path) for record in records_of(unit)
    }
    return [Run(run_tag="t", source="import", format=format_name), *found.values()]


def as_records(rows: Iterable[Row]) -> Iterator[Record]:
    """Rows converted to records."""
    for row in rows:
        lines = row.json.split(b"\n")
        assert len(lines) == row.lines
        for line in lines:
            yield TABLES[row.table].model_validate_json(line)


def kept_records(folder: Path) -> Iterator[Record]:
    """Every record of a kept import."""
    return as_records(read_import(folder))


def bad_records(format_name: str, path: Path) -> list[BadRecord]:
    """The bad records of a source."""
    return [unit for unit in importer_of(format_name).read(path, "t", "rows") if isinstance(unit, BadRecord)]


@contextmanager
def landed(workspace: Workspace, run_tag: str) -> Iterator[duckdb.DuckDBPyConnection]:
    """A DuckDB file in which one kept import has landed, reopened."""
    database = workspace.root / "landed.duckdb"
    with duckdb.connect(str(database)) as con:
        create_raw_tables(con)
        land_import(con, workspace.imports / run_tag)
    with duckdb.connect(str(database), read_only=True) as con:
        yield con


def counts(con: duckdb.DuckDBPyConnection) -> dict[str, int]:
    """The number of rows of each landed table that is not empty."""
    tables = con.execute("select table_name from duckdb_tables() where schema_name = 'raw'").fetchall()
    found = {name: only(con, f"select count(*) from raw.{name}") for (name,) in tables}
    return {name: count for name, count in sorted(found.items()) if count}


def only(con: duckdb.DuckDBPyConnection, sql: str, *parameters: Any) -> Any:
    """The single value that a query returns."""
    ((value,),) = con.execute(sql, list(parameters)).fetchall()
    return value


def add_import(workspace: Workspace, run_tag: str, format_name: str, path: Path, **options: Any) -> ImportReport:
    """Keep the records at `path` as `importing` does with these options."""
    with importing(workspace, run_tag, format_name, path, with_rows=False, **options) as report:
        return report


def land_records(con: duckdb.DuckDBPyConnection, run_tag: str, records: Iterable[Record]) -> dict[str, int]:
    """Replace everything landed under `run_tag` with `records`, as `land_rows` does."""
    return land_rows(con, run_tag, (record.row() for record in records))
