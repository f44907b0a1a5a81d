"""Warehouses that save tests time: one built before anything has landed, and one whose views are stored as tables."""

from __future__ import annotations

import atexit
import tempfile
from collections.abc import Iterable
from datetime import datetime
from functools import cache
from itertools import count
from pathlib import Path

import duckdb

from debatebench.query.sql_project import load_project
from debatebench.shared.workspace import Workspace
from debatebench.transform.project import Project
from debatebench.warehouse.update import update_warehouse

NOON = datetime(2026, 1, 1, 12)


def begin_built(root: Path) -> Path:
    """Give a workspace the warehouse that `debatebench build` makes when nothing has landed.

    For tests that are not about a first build: a first build spends seconds parsing and creating every SQL model.
    """
    database = Workspace(root).database
    database.parent.mkdir(parents=True, exist_ok=True)
    database.write_bytes(empty_and_built())
    return root


def new_warehouse(path: Path | None = None, *, threads: int = 2) -> duckdb.DuckDBPyConnection:
    """A connection to the same warehouse, in a new file at `path` or in one that goes when the tests end."""
    path = path or _files() / f"{next(_NUMBERS)}.duckdb"
    path.write_bytes(empty_and_built())
    return duckdb.connect(str(path), config={"threads": threads})


_NUMBERS = count()


@cache
def _files() -> Path:
    folder = tempfile.TemporaryDirectory(prefix="warehouses-")
    atexit.register(folder.cleanup)
    return Path(folder.name)


@cache
def packaged_project() -> Project:
    """The packaged SQL models, read once."""
    return load_project(Workspace(Path("nowhere")).files("sql", "**/*"))


@cache
def empty_and_built() -> bytes:
    """The warehouse's file."""
    with tempfile.TemporaryDirectory() as folder:
        workspace = Workspace(Path(folder))
        update_warehouse(workspace, [], now=lambda: NOON)
        return workspace.database.read_bytes()


def store_views(con: duckdb.DuckDBPyConnection, names: Iterable[str]) -> None:
    """Replace each view in `names` with a table of the same rows, in the order of `names`.

    A query of a view computes everything below it again. Once the views are tables, many queries cost a fraction.
    """
    found = con.execute("select schema_name || '.' || view_name from duckdb_views() where not internal").fetchall()
    con.execute("begin")
    for name in names:
        if (name,) in found:
            con.execute(
                f"create temp table stored as from {name}; drop view {name}; create table {name} as from stored"
            )
            con.execute("drop table stored")
    con.execute("commit")


def stored(database: Path) -> Path:
    """Run `store_views` on a warehouse file, for the packaged SQL models."""
    with duckdb.connect(str(database)) as con:
        store_views(con, packaged_project().models)
    return database
