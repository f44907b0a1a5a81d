"""The warehouse as a whole: land what the journals and imports hold, build the SQL models, publish."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING

from debatebench.journal.reading import has_begun
from debatebench.landing.land import RowFiles, create_raw_tables, land_missing_settings, land_rows, outdated_tables
from debatebench.query.run_tags import landed_tags
from debatebench.shared.duckdb_sql import close_to_outside
from debatebench.shared.errors import DamagedDataError, UsageError
from debatebench.transform.project import load_project
from debatebench.warehouse.publish import private_copy, publishing
from debatebench.warehouse.up_to_date import note_current

if TYPE_CHECKING:
    import duckdb

    from debatebench.shared.workspace import Workspace
    from debatebench.transform.build import BuildResult
    from debatebench.transform.project import Project

__all__ = ["Landed", "LandingSource", "Update", "sources", "update_warehouse"]


@dataclass(frozen=True, slots=True)
class LandingSource:
    """Where a run tag's records come from: a journal, or a folder of kept imports."""

    run_tag: str
    path: Path
    is_journal: bool
    rows: RowFiles | None = None
    """The rows of an import, if they have been read already."""

    def land(self, con: duckdb.DuckDBPyConnection, landed_sha256: str | None) -> dict[str, int]:
        """Land the tag and return its rows per table; `landed_sha256` is the hash of what landed before, if any."""
        if self.is_journal:
            from debatebench.landing.journal_records import journal_rows

            return land_rows(con, self.run_tag, journal_rows(self.path))
        from debatebench.landing.importers.import_landing import land_import

        return land_import(con, self.path, landed_sha256, self.rows)

    def content_sha256(self) -> str:
        """A hash that changes if the records may have changed. An import's manifest has the hashes of its parts."""
        path = self.path if self.is_journal else self.path / "manifest.json"
        with open(path, "rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()


@dataclass(frozen=True, slots=True)
class Landed:
    """What landing did with one tag: the rows per table, or nothing if it landed before and has not changed."""

    run_tag: str
    rows: dict[str, int] | None


@dataclass(frozen=True, slots=True)
class Update:
    """What an update of the warehouse did."""

    landed: tuple[Landed, ...]
    build: BuildResult | None


def sources(workspace: Workspace) -> dict[str, LandingSource]:
    """Every run tag with a journal or imports in the workspace, in order."""
    journals = [path for path in sorted(workspace.journal.glob("*.jsonl")) if path.is_file() and has_begun(path)]
    found = {path.stem: LandingSource(path.stem, path, True) for path in journals}
    for manifest in sorted(workspace.imports.glob("*/manifest.json")):
        folder = manifest.parent
        if folder.name in found:
            raise UsageError(
                f"Run tag '{folder.name}' is used by both {found[folder.name].path} and {folder}; move one of them "
                "elsewhere."
            )
        found[folder.name] = LandingSource(folder.name, folder, False)
    return dict(sorted(found.items()))


def update_warehouse(
    workspace: Workspace,
    run_tags: Iterable[str] | None,
    *,
    now: Callable[[], datetime],
    build: bool = True,
    from_scratch: bool = False,
    select: list[str] | None = None,
    full_refresh: bool = False,
    rows: RowFiles | None = None,
) -> Update:
    """Land `run_tags` (None: every tag that has a source), build the SQL models, and publish both at once.

    `rows` are those of an import, if they have been read already. Landing an unchanged tag does nothing. With
    `from_scratch` the file is created again from all sources. Raises `UsageError` for a tag without a source; on any
    error the published warehouse stays unchanged.
    """
    known = sources(workspace)
    if rows is not None:
        known[rows.run_tag] = replace(known[rows.run_tag], rows=rows)
    wanted = list(known) if run_tags is None else list(run_tags)
    for run_tag in wanted:
        if run_tag not in known:
            raise UsageError(f"No run '{run_tag}' in {workspace.warehouse}. Known: {', '.join(known) or 'none yet'}.")
    with ThreadPoolExecutor(1) as pool:
        # Read the project while the warehouse is copied and records land.
        project = pool.submit(_read_project, workspace) if build else None
        with publishing(workspace.database, from_scratch=from_scratch) as con:
            if outdated_tables(con):
                _start_over(con, known)
                wanted = list(known)
            create_raw_tables(con)
            land_missing_settings(con)
            landed = tuple(_land(con, known[run_tag], now()) for run_tag in wanted)
            result = None if project is None else _build(con, project.result(), now, select, full_refresh)
            inode = private_copy(workspace.database).stat().st_ino
        if project is not None and result is not None and result.is_complete:
            note_current(workspace.database, project.result(), inode)
    return Update(landed, result)


def _read_project(workspace: Workspace) -> Project:
    """The project of the workspace, with its YAML already read, so that a check need not read it again."""
    from debatebench.transform.load import read_yaml_files

    project = load_project(workspace.files("sql", "**/*"))
    read_yaml_files(project.files)
    return project


def _start_over(con: duckdb.DuckDBPyConnection, known: Mapping[str, LandingSource]) -> None:
    """Drop what another version landed, so that it lands again; refuse if a tag has no source to land from."""
    lost = [run_tag for run_tag in landed_tags(con) if run_tag not in known]
    if lost:
        raise DamagedDataError(
            f"Another version of debatebench made this warehouse, and the journal or import of run '{lost[0]}' is "
            "missing, so it cannot be landed again: put it back, or drop the run with `debatebench build "
            "--from-journals`."
        )
    con.execute("drop schema raw cascade")
    con.execute("drop table if exists meta.landings")


def _land(con: duckdb.DuckDBPyConnection, source: LandingSource, now: datetime) -> Landed:
    """Land one tag, unless exactly this content landed before."""
    con.execute(
        "create schema if not exists meta; create table if not exists meta.landings "
        "(run_tag varchar primary key, source varchar, content_sha256 varchar, rows bigint, landed_at timestamp)"
    )
    content = source.content_sha256()
    before = con.execute("select content_sha256 from meta.landings where run_tag = ?", [source.run_tag]).fetchall()
    if before == [(content,)]:
        return Landed(source.run_tag, None)
    rows = source.land(con, before[0][0] if before else None)
    con.execute(
        "insert or replace into meta.landings values (?, ?, ?, ?, ?)",
        [source.run_tag, "journal" if source.is_journal else "import", content, sum(rows.values()), now],
    )
    return Landed(source.run_tag, rows)


def _build(
    con: duckdb.DuckDBPyConnection,
    project: Project,
    now: Callable[[], datetime],
    select: list[str] | None,
    full_refresh: bool,
) -> BuildResult:
    from debatebench.transform.build import build
    from debatebench.transform.parse_cache import recall_parsed

    close_to_outside(con)
    recall_parsed(con)
    return build(con, project, select=select, full_refresh=full_refresh, now=now())
