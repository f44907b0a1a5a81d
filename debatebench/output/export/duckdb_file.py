"""A DuckDB file: the chosen runs' landed tables with every SQL model built on them, readable without this package."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import duckdb

from debatebench.landing.land import create_raw_tables
from debatebench.output.export.manifest import Contents
from debatebench.output.export.snapshot import Snapshot
from debatebench.shared.activity import each_of
from debatebench.shared.duckdb_sql import NO_EXTENSIONS, close_to_outside, quoted_text
from debatebench.shared.records import TABLES
from debatebench.warehouse.blank import begin_from_blank
from debatebench.warehouse.publish import STORAGE_VERSION

DATABASE = "debatebench.duckdb"


def write(snapshot: Snapshot, folder: Path) -> Contents:
    """Write the file. Its bytes differ each time, because DuckDB gives every file an id; its tables do not differ."""
    write_built_copy(snapshot, folder / DATABASE)
    with attached(snapshot, folder / DATABASE):
        return Contents({DATABASE: table_rows(snapshot)})


def write_built_copy(snapshot: Snapshot, path: Path) -> None:
    """Create a warehouse of the chosen runs at `path`: landed tables, records of their landing, SQL models, ratings."""
    from debatebench.transform.build import build

    with attached(snapshot, path):
        copy_raw_tables(snapshot)
        _copy_landings(snapshot)
    with closing(duckdb.connect(str(path), config={**NO_EXTENSIONS})) as con:
        begin_from_blank(con)
        close_to_outside(con)
        build(con, snapshot.project, now=snapshot.now)
        con.execute("checkpoint")


@contextmanager
def attached(snapshot: Snapshot, path: Path) -> Iterator[None]:
    """Attach the file at `path`, new or existing, as `target`, the default database of the snapshot's connection."""
    con = snapshot.con
    con.execute(f"attach {quoted_text(str(path))} as target (storage_version {quoted_text(STORAGE_VERSION)})")
    con.execute("use target")
    try:
        yield
        con.execute("checkpoint target")
    finally:
        con.execute("use warehouse")
        con.execute("detach target")


def copy_raw_tables(snapshot: Snapshot) -> None:
    """Copy the chosen runs' landed rows into `target`, in the order of their keys."""
    create_raw_tables(snapshot.con)
    for name, record in each_of("Copying landed tables", TABLES.items()):
        snapshot.con.execute(
            f"insert into target.raw.{name} select * from warehouse.raw.{name} "
            f"where list_contains(?::varchar[], run_tag) order by {', '.join(record.key)}",
            [list(snapshot.run_tags)],
        )


def _copy_landings(snapshot: Snapshot) -> None:
    """Copy the records of landed runs, so that the copy is a warehouse too."""
    con = snapshot.con
    ((definition,),) = con.execute(
        "select sql from duckdb_tables() "
        "where database_name = 'warehouse' and schema_name = 'meta' and table_name = 'landings'"
    ).fetchall()
    con.execute("create schema if not exists target.meta")
    con.execute(definition)
    con.execute(
        "insert into target.meta.landings select * from warehouse.meta.landings "
        "where list_contains(?::varchar[], run_tag) order by run_tag",
        [list(snapshot.run_tags)],
    )


def table_rows(snapshot: Snapshot) -> dict[str, int]:
    """The number of rows of every table in `target`; views are not counted."""
    con = snapshot.con
    names = con.execute(
        "select schema_name || '.' || table_name from duckdb_tables() where database_name = 'target' order by 1"
    ).fetchall()
    return {name: con.execute(f"select count(*) from target.{name}").fetchall()[0][0] for (name,) in names}
