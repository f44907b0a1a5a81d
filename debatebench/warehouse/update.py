"""The warehouse as a whole: land what the journals and imports hold, build the SQL models, publish."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, suppress
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING

import duckdb

from debatebench.landing.land import RowFiles, create_landings, create_raw_tables, land_missing_settings, remove_landed
from debatebench.landing.run_marks import check_not_archived, land_marks, read_marks
from debatebench.query.landed_records import outdated_tables
from debatebench.query.run_tags import landed_tags
from debatebench.query.safe_query import open_for_query
from debatebench.query.sql_project import load_project
from debatebench.shared.activity import each_of
from debatebench.shared.duckdb_sql import close_to_outside, limit_memory
from debatebench.shared.errors import (
    DamagedDataError,
    DebatebenchError,
    HeldWarehouseError,
    SqlDataError,
    SqlModelError,
)
from debatebench.shared.memory import check_memory
from debatebench.shared.workspace import Workspace, check_known_run, packaged
from debatebench.transform.project import Project
from debatebench.warehouse.publish import BUILDING_MB, private_copy, publishing
from debatebench.warehouse.sources import Content, LandingSource, landed_contents, published_contents, sources
from debatebench.warehouse.up_to_date import note_current

if TYPE_CHECKING:
    from debatebench.transform.build import BuildResult


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
    set_aside: dict[str, str]
    """Run tag → why its source could not be landed; the warehouse has what it had of the run before, if anything."""
    unbuilt: str | None = None
    """Why SQL models were not built although that was asked for; the tags have landed. `build` is None if none was."""


def update_warehouse(
    workspace: Workspace,
    run_tags: Iterable[str] | None,
    *,
    now: Callable[[], datetime],
    build: bool = True,
    from_scratch: bool = False,
    without: Collection[str] = (),
    replace_landed: bool = False,
    select: list[str] | None = None,
    full_refresh: bool = False,
    rows: RowFiles | None = None,
    note: Callable[[str], None] | None = None,
    with_marks: bool = False,
) -> Update:
    """Land `run_tags` (None: every tag that has a source), build the SQL models, and publish both at once.

    The marks of runs land too, and the rows of archived runs are removed. This is so with `with_marks` even if nothing
    else is to land and no SQL model can be built.

    `rows` are those of an import, if they have been read already. `note` gets a sentence if other publications take
    long. Landing an unchanged tag does nothing. A source that has lost what was landed from it lands only with
    `replace_landed`. With `from_scratch` the file is created again from all sources, `without` those of some tags;
    every other run of the old file must have its source.

    A tag from whose rows the SQL models cannot be built is set aside, and the others are published. If all tags land in
    an existing file, so is a tag with a damaged or missing source; otherwise, that is a `DamagedDataError`. Raises
    `UsageError` for a tag without a source; on any error the published warehouse stays unchanged. If a SQL model is
    broken, the tags land, all that does not depend on it is built, and `unbuilt` says why. A mere build that builds
    nothing because of it raises the `SqlModelError`.
    """
    work = _Work(
        workspace,
        now,
        build=build,
        from_scratch=from_scratch,
        without=without,
        replace_landed=replace_landed,
        is_for_all=run_tags is None,
        select=select,
        full_refresh=full_refresh,
        rows=rows,
        note=note,
    )
    known = work.sources()
    for run_tag in set(without) - known.keys():
        check_not_archived(workspace, run_tag)
        check_known_run(run_tag, [*known, *_landed(workspace.database)], workspace.warehouse)
    wanted = [tag for tag in known if tag not in without] if run_tags is None else list(run_tags)
    for run_tag in wanted:
        work.source_of(run_tag, known)
    problem: SqlModelError
    try:
        return work.publish(wanted)
    except SqlDataError as error:
        if work.failure([]) is None:
            tags = work.landed_by(wanted)
            underivable = _underivable(work.failure, tags, str(error))
            update = work.publish([run_tag for run_tag in tags if run_tag not in underivable], is_exact=True)
            return replace(update, set_aside=underivable | update.set_aside)
        problem = error
    except SqlModelError as error:
        problem = error
    if from_scratch or not (wanted or with_marks):
        raise problem
    return replace(replace(work, build=False).publish(wanted), unbuilt=str(problem))


def _landed(database: Path) -> list[str]:
    """The runs in the warehouse; none if it cannot be read."""
    with suppress(DebatebenchError), closing(open_for_query(database)) as con:
        return landed_tags(con)
    return []


def _underivable(
    failure: Callable[[Sequence[str]], str | None], run_tags: Sequence[str], reason: str
) -> dict[str, str]:
    """The tags from whose rows the SQL models cannot be built, and why.

    `reason` is why a publication of all of them failed, and `failure` says why one of some of them would.
    """
    if len(run_tags) == 1:
        return {run_tags[0]: reason}
    found: dict[str, str] = {}
    half = len(run_tags) // 2
    for tags in (run_tags[:half], run_tags[half:]):
        if (why := failure(tags)) is not None:
            found |= _underivable(failure, tags, why)
    return found


class _DiscardedError(Exception):
    """Ends a publication that was only tried."""


@dataclass(frozen=True, slots=True)
class _Work:
    """How an update of the warehouse is done; see `update_warehouse`."""

    workspace: Workspace
    now: Callable[[], datetime]
    build: bool
    from_scratch: bool
    without: Collection[str]
    replace_landed: bool
    is_for_all: bool
    select: list[str] | None
    full_refresh: bool
    rows: RowFiles | None
    note: Callable[[str], None] | None

    def sources(self) -> dict[str, LandingSource]:
        """Every run tag that has a source now; that of an import has the rows that have been read."""
        known = sources(self.workspace)
        if self.rows is not None:
            known[self.rows.run_tag] = replace(known[self.rows.run_tag], rows=self.rows)
        return known

    def source_of(self, run_tag: str, known: Mapping[str, LandingSource]) -> LandingSource:
        """Its source, or a `UsageError`."""
        check_not_archived(self.workspace, run_tag)
        check_known_run(run_tag, known, self.workspace.warehouse)
        return known[run_tag]

    def failure(self, run_tags: Sequence[str]) -> str | None:
        """Why the SQL models could not be built if these tags landed; None if they can."""
        try:
            self.publish(run_tags, is_exact=True, is_trial=True)
        except SqlDataError as error:
            return str(error)
        except _DiscardedError:
            pass
        return None

    def landed_by(self, wanted: Sequence[str]) -> list[str]:
        """The tags that an update lands: all that have a source, if another version created the tables."""
        if self.from_scratch or not self.workspace.database.exists():
            return list(wanted)
        with closing(open_for_query(self.workspace.database)) as con:
            return list(self.sources()) if outdated_tables(con) else list(wanted)

    def publish(self, run_tags: Sequence[str], *, is_exact: bool = False, is_trial: bool = False) -> Update:
        """Land the tags, build and publish; a trial raises `_DiscardedError` instead of publishing.

        If another version created the tables, all tags with a source land, unless `is_exact`.
        """
        database = self.workspace.database
        with ThreadPoolExecutor(1) as pool:
            # Read the project while the warehouse is copied and records land.
            project = pool.submit(_read_project, self.workspace) if self.build else None
            with publishing(database, from_scratch=self.from_scratch, note=self.note) as con:
                is_outdated = bool(outdated_tables(con))
                landed, set_aside, has_changed = self._land_all(con, run_tags, is_exact, is_outdated)
                result, unbuilt = (None, None) if project is None else self._build(con, project.result(), is_outdated)
                if is_trial:
                    raise _DiscardedError
                if unbuilt is not None and not (landed or has_changed or (result and (result.built or result.dropped))):
                    raise SqlModelError(unbuilt)
                inode = private_copy(database).stat().st_ino
            if project is not None and result is not None and result.is_complete:
                note_current(database, project.result(), inode)
        return Update(landed, result, set_aside, unbuilt)

    def _land_all(
        self, con: duckdb.DuckDBPyConnection, run_tags: Sequence[str], is_exact: bool, is_outdated: bool
    ) -> tuple[tuple[Landed, ...], dict[str, str], bool]:
        """Land the tags, the marks, and the removal of archived runs; all again if another version created the tables.

        Returns what landed, why tags were set aside, and whether marks changed or runs were removed.
        """
        # Listed here, because another process may have published a new run while this one waited for it.
        known, marks = self.sources(), read_marks(self.workspace)
        if self.is_for_all and not is_exact:
            run_tags = [tag for tag in known if tag not in self.without]
        before = self._landed_before(con)
        left = marks.archived.union(self.without)
        missing = {tag: self._missing(tag) for tag in before if tag not in known and tag not in left}
        starts_over = self.from_scratch
        if is_outdated:
            con.execute("drop schema raw cascade; drop table if exists meta.landings")
            starts_over, run_tags = True, run_tags if is_exact else list(known)
        if starts_over and missing:
            raise DamagedDataError(next(iter(missing.values())))
        create_raw_tables(con)
        removed = [] if starts_over else [tag for tag in before if tag in marks.archived]
        for run_tag in removed:
            remove_landed(con, run_tag)
        has_changed = land_marks(con, marks.records()) or bool(removed)
        land_missing_settings(con)
        if starts_over:
            # In the order of the earlier landings, so that the same run is the last.
            places = {tag: place for place, tag in enumerate(before)}
            run_tags = sorted(run_tags, key=lambda tag: places.get(tag, len(places)))
        landed: list[Landed] = []
        set_aside = missing if self.is_for_all else {}
        for run_tag in each_of("Landing runs", run_tags):
            try:
                landed.append(self._land(con, self.source_of(run_tag, known), before.get(run_tag), starts_over))
            except DamagedDataError as error:
                if starts_over:
                    raise type(error)(f"{error} {_without_hint(run_tag)}") from error
                if not self.is_for_all:
                    raise
                set_aside[run_tag] = str(error)
        new = [each.run_tag for each in landed if each.rows is not None and each.run_tag not in before]
        if self.is_for_all and new:
            _number_by_time(con, new)
        for run_tag in new if before else ():
            _number_before(con, run_tag, marks.landed_later.get(run_tag, ()))
        return tuple(landed), set_aside, has_changed

    def _landed_before(self, con: duckdb.DuckDBPyConnection) -> dict[str, Content]:
        """Run tag → what was landed; of a damaged file that is created again, that is not known."""
        if not self.from_scratch:
            return landed_contents(con)
        try:
            return published_contents(self.workspace.database)
        except HeldWarehouseError:
            raise
        except (DebatebenchError, duckdb.Error) as error:
            check_memory(error)
            return {}

    def _missing(self, run_tag: str) -> str:
        return (
            f"The warehouse contains run '{run_tag}', but its journal or import is missing: put it back. "
            f"{_without_hint(run_tag)}"
        )

    def _land(
        self, con: duckdb.DuckDBPyConnection, source: LandingSource, before: Content | None, starts_over: bool
    ) -> Landed:
        """Land one tag, unless exactly this content landed before."""
        content = source.content()
        if before is not None and content.sha256 == before.sha256:
            if not starts_over:
                return Landed(source.run_tag, None)
        elif before is not None and not self.replace_landed:
            source.check_continues(before)
        rows = source.land(con, before if not starts_over else None)
        create_landings(con)
        con.execute(
            "insert or replace into meta.landings by name select ? as run_tag, ? as source, ? as content_sha256, "
            "? as rows, ? as landed_at, ? as source_size, ? as annotations, "
            "1 + (select coalesce(max(landing), 0) from meta.landings) as landing",
            [
                source.run_tag,
                "journal" if source.is_journal else "import",
                content.sha256,
                sum(rows.values()),
                self.now(),
                content.size,
                content.annotations,
            ],
        )
        return Landed(source.run_tag, rows)

    def _build(
        self, con: duckdb.DuckDBPyConnection, project: Project, is_outdated: bool
    ) -> tuple[BuildResult, str | None]:
        """What the build did, and why it did not build all. With `is_outdated`, the landed tables are new."""
        from debatebench.transform.build import PartlyBuiltError, build
        from debatebench.transform.parse_cache import recall_parsed
        from debatebench.warehouse.blank import begin_from_blank, forget_built

        full_refresh = self.full_refresh
        if (full_refresh or is_outdated) and self.select is None and self._is_packaged(project) and forget_built(con):
            full_refresh = False
        if self.select is None and not full_refresh:
            begin_from_blank(con)
        # By now the file has the rows that have landed.
        limit_memory(con, private_copy(self.workspace.database), least=BUILDING_MB)
        close_to_outside(con)
        recall_parsed(con)
        try:
            return build(con, project, select=self.select, full_refresh=full_refresh, now=self.now()), None
        except PartlyBuiltError as error:
            return error.result, str(error)

    @staticmethod
    def _is_packaged(project: Project) -> bool:
        """Whether no SQL model is the workspace's own: one that is broken would have to stay as it was."""
        return all(file.is_relative_to(packaged("sql")) for file in project.files.values())


def _number_by_time(con: duckdb.DuckDBPyConnection, new: Collection[str]) -> None:
    """Number tags that landed together for the first time by when their runs began, imports by their first debate.

    So a file that was deleted has the same last run again, unless a clock was wrong.
    """
    rows = con.execute(
        "select run_tag, landing from meta.landings inner join raw.runs using (run_tag) "
        "where list_contains(?, run_tag) order by created_at nulls first, run_tag",
        [list(new)],
    ).fetchall()
    _renumber(con, [tag for tag, _ in rows], sorted(number for _, number in rows))


def _number_before(con: duckdb.DuckDBPyConnection, run_tag: str, later: Collection[str]) -> None:
    """Number a tag before the first of those that had landed later when it was archived."""
    order = [tag for tag in landed_contents(con) if tag != run_tag]
    place = next((place for place, tag in enumerate(order) if tag in later), None)
    if place is None:
        return
    order.insert(place, run_tag)
    _renumber(con, order, range(1, len(order) + 1))


def _renumber(con: duckdb.DuckDBPyConnection, run_tags: Sequence[str], numbers: Sequence[int]) -> None:
    con.execute(
        "update meta.landings set landing = numbered.landing from (select unnest(?) as run_tag, unnest(?) as landing) "
        "as numbered where landings.run_tag = numbered.run_tag",
        [list(run_tags), list(numbers)],
    )


def _without_hint(run_tag: str) -> str:
    return f"To leave the run out: `debatebench build --from-journals --without {run_tag}`."


def _read_project(workspace: Workspace) -> Project:
    """The project of the workspace, with its YAML already read, so that a check need not read it again."""
    from debatebench.transform.broken import Broken
    from debatebench.transform.load import read_yaml_files

    project = load_project(workspace.files("sql", "**/*"), skip_broken=True)
    read_yaml_files(project.files, Broken(skip=True))
    return project
