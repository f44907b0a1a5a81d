"""The input of an export: one state of the warehouse, the chosen runs, and the SQL models that it was built from."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

import duckdb

from debatebench.query.attached import attached
from debatebench.query.run_tags import NO_RUNS, check_landed, landed_tags
from debatebench.query.sql_project import load_project
from debatebench.shared.activity import doing
from debatebench.shared.duckdb_sql import close_to_outside
from debatebench.shared.errors import UsageError
from debatebench.shared.workspace import Workspace
from debatebench.transform.parse_cache import recall_parsed
from debatebench.transform.project import Project
from debatebench.warehouse.up_to_date import check_fits


@dataclass(frozen=True, slots=True)
class DatasetOptions:
    """How a dataset is published: under which licence, without names, with attacked copies of debates."""

    license: str | None = None
    anonymize: bool = False
    with_attacked: bool = False


@dataclass(frozen=True, slots=True)
class Snapshot:
    """One state of the warehouse, attached to `con` read-only as `warehouse`, which is the default there.

    `con` may read and write files only in the folder of the export, and uses one thread, so that equal warehouses give
    equal files.
    """

    con: duckdb.DuckDBPyConnection
    database: Path
    project: Project
    run_tags: tuple[str, ...]
    is_whole: bool
    """Whether every run was chosen."""
    select: tuple[str, ...]
    now: datetime | None
    dataset: DatasetOptions = DatasetOptions()


@contextmanager
def open_snapshot(
    workspace: Workspace,
    folder: Path,
    run_tags: Sequence[str] | None,
    select: tuple[str, ...],
    now: datetime | None,
    *,
    with_sources: bool = False,
    dataset: DatasetOptions | None = None,
) -> Iterator[Snapshot]:
    """Attach the warehouse and check the runs, for an export to `folder`.

    With `with_sources`, the runs whose debates a chosen run judges are chosen too, if the warehouse has them.
    A publication does not change the snapshot: the old file stays open.

    Raises `UsageError` when there is no warehouse, when it is behind its SQL models, and for a run that it does not
    contain; `HeldWarehouseError` and `DamagedDataError` as `query.open_for_query` does.
    """
    doing("Reading SQL models")
    project = load_project(workspace.files("sql", "**/*"))
    with attached(workspace.database, threads=1) as con:
        con.execute("use warehouse")
        close_to_outside(con, besides=folder)
        recall_parsed(con)
        check_fits(workspace, None, con=con)
        chosen = _chosen(con, run_tags)
        if with_sources:
            chosen = tuple(tag for tag in landed_tags(con) if tag in {*chosen, *_sources(con, chosen)})
        yield Snapshot(
            con, workspace.database, project, chosen, run_tags is None, select, now, dataset or DatasetOptions()
        )


def _chosen(con: duckdb.DuckDBPyConnection, wanted: Sequence[str] | None) -> tuple[str, ...]:
    """The runs to export, each once, in order."""
    for run_tag in sorted(set(wanted or ())):
        check_landed(con, run_tag)
    if not (known := landed_tags(con)):
        raise UsageError(NO_RUNS)
    return tuple(known) if wanted is None else tuple(sorted(set(wanted)))


def _sources(con: duckdb.DuckDBPyConnection, run_tags: Sequence[str]) -> list[str]:
    """The runs whose debates are judged in `run_tags`."""
    found = con.execute(
        "select distinct source_run_tag from raw.runs "
        "where list_contains(?::varchar[], run_tag) and source_run_tag is not null",
        [list(run_tags)],
    )
    return [tag for (tag,) in found.fetchall()]
