"""Every run of a workspace as one thing: what the warehouse says of it, its marks, and where its source is."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import closing, suppress
from dataclasses import dataclass, fields, replace
from datetime import datetime
from decimal import Decimal
from pathlib import Path
from typing import Any, Literal, NamedTuple, cast

from debatebench.journal.reading import is_played_now
from debatebench.journal.shards import count_here, is_any_played, journals_of
from debatebench.landing.run_marks import NO_MARKS, Marks, read_marks
from debatebench.query.one_debate import check_marts
from debatebench.query.run_tags import default_order, landed_tags
from debatebench.query.safe_query import open_for_query, run_query
from debatebench.shared.errors import DebatebenchError
from debatebench.shared.workspace import Workspace, check_known_run
from debatebench.warehouse.archive import archived_source, archived_tags, judged_run
from debatebench.warehouse.sources import LandingSource, landed_contents, sources

State = Literal["finished", "unfinished", "playing", "imported", "not landed", "archived"]


@dataclass(frozen=True, slots=True)
class ListedRun:
    """A run or import. What comes from the warehouse is `None` where it is not there: not landed yet, or archived.

    `is_default` is whether commands and pages mean it where no run is named. `path` is its journal or import.
    """

    run_tag: str
    title: str | None
    state: State
    is_default: bool
    is_pinned: bool
    is_excluded: bool
    kind: str | None
    benchmark_version: str | None
    count_complete: int | None
    count_planned: int | None
    cost_usd: Decimal | None
    is_simulated: bool | None
    source_run_tag: str | None
    created_at: datetime | None
    note: str | None
    path: Path | None
    shards: str | None
    """Of a run in shards, how many have a journal here: `3 of 4`."""

    @classmethod
    def columns(cls) -> list[str]:
        """The names of the fields."""
        return [field.name for field in fields(cls)]


def list_runs(workspace: Workspace) -> list[ListedRun]:
    """Every run: the default and the pinned first, then the newest, then what has not landed, then the archived.

    Raises `UsageError` if the SQL models are not built, and what reading the warehouse and the marks does.
    """
    marks, there = read_marks(workspace), sources(workspace)
    archived = marks.archived | archived_tags(workspace)
    landed: dict[str, dict[str, Any]] = {}
    order: list[str] = []
    if workspace.database.is_file():
        with closing(open_for_query(workspace.database)) as con:
            check_marts(con)
            found = run_query(con, "from marts.runs order by created_at desc nulls last, run_tag", limit=None)
            landed = {row["run_tag"]: row for row in found.dicts()}
            order = default_order(con)
    default = order[0] if order else None
    pinned = [tag for tag in order if marks.of(tag).pinned is not None]
    tags = dict.fromkeys([*([default] if default else []), *pinned, *landed, *there, *sorted(archived)])
    listed = [_listed(tag, marks, landed.get(tag, {}), there.get(tag), is_default=tag == default) for tag in tags]
    listed = [
        replace(run, path=archived_source(workspace, run.run_tag)) if run.state == "archived" else run for run in listed
    ]
    return [run for run in listed if run.state != "archived"] + [run for run in listed if run.state == "archived"]


def _listed(
    tag: str, marks: Marks, row: dict[str, Any], source: LandingSource | None, *, is_default: bool
) -> ListedRun:
    own = marks.of(tag)
    return ListedRun(
        run_tag=tag,
        title=own.title,
        state=_state(own.archived or (source is None and not row), row, source),
        is_default=is_default,
        is_pinned=own.pinned is not None,
        is_excluded=own.excluded,
        kind=row.get("kind"),
        benchmark_version=row.get("benchmark_version"),
        count_complete=row.get("count_complete"),
        count_planned=row.get("count_planned"),
        cost_usd=row.get("cost_usd"),
        is_simulated=row.get("is_simulated"),
        source_run_tag=row.get("source_run_tag"),
        created_at=row.get("created_at"),
        note=own.note,
        path=source.path if source else None,
        shards=_shards(source),
    )


def _shards(source: LandingSource | None) -> str | None:
    if source is None or not source.is_journal or not source.path.is_dir():
        return None
    with suppress(DebatebenchError):
        return "{:,} of {:,}".format(*count_here(source.path))
    return None


def _state(is_archived: bool, row: dict[str, Any], source: LandingSource | None) -> State:
    if is_archived:
        return "archived"
    if source is not None and source.is_journal and is_any_played(source.path):
        return "playing"
    if not row:
        return "not landed"
    if row["source"] == "import":
        return "imported"
    return "finished" if row["count_complete"] >= row["count_planned"] else "unfinished"


def is_playing(workspace: Workspace, run_tag: str) -> bool:
    """Whether a process plays this run at this moment. The answer takes a lock of its journal for an instant."""
    return any(map(is_played_now, journals_of(workspace.journal, run_tag)))


class Place(NamedTuple):
    """What the warehouse says of a run that is to be archived."""

    judged_by: str | None = None
    landed_later: Sequence[str] = ()


def place_of(workspace: Workspace, run_tag: str) -> Place:
    """A run in the warehouse that judges the debates of this one, and the runs that landed after it."""
    if not workspace.database.is_file():
        return Place()
    with closing(open_for_query(workspace.database)) as con:
        if not landed_tags(con):
            return Place()
        found = con.execute("select min(run_tag) from raw.runs where source_run_tag = ?", [run_tag]).fetchall()
        order = list(landed_contents(con))
    return Place(found[0][0], order[order.index(run_tag) + 1 :] if run_tag in order else ())


def why_never_meant(workspace: Workspace, run_tag: str) -> str | None:
    """Why a run is not meant where no run is named, pinned or not, and what to do; None if it can be.

    It says of a run that has not landed what it will be once it has.
    """
    marks = read_marks(workspace).of(run_tag)
    if marks.archived:
        return f"Run '{run_tag}' is archived: `debatebench runs restore {run_tag}` brings it back."
    if (source := _source_of(workspace, run_tag)) is not None:
        return f"Run '{run_tag}' judges the debates of '{source}', and never takes the place of a run with its own."
    if marks.excluded:
        return f"Run '{run_tag}' is excluded: `debatebench runs include {run_tag}` takes it back in."
    return None


def _source_of(workspace: Workspace, run_tag: str) -> str | None:
    """The run whose debates this one judges, by its rows, or by its journal if it has not landed."""
    if workspace.database.is_file():
        with closing(open_for_query(workspace.database)) as con:
            if run_tag in landed_tags(con):
                found = con.execute("select source_run_tag from raw.runs where run_tag = ?", [run_tag]).fetchall()
                return cast("str | None", found[0][0])
    return judged_run(archived_source(workspace, run_tag))


def known_run(workspace: Workspace, run_tag: str) -> None:
    """Raise `UsageError` unless the workspace has a run with this tag: its source, its rows, or in the archive."""
    marks = read_marks(workspace)
    known = {*sources(workspace), *marks.archived, *archived_tags(workspace)}
    if run_tag not in known and workspace.database.is_file():
        with closing(open_for_query(workspace.database)) as con:
            known |= set(landed_tags(con))
    if marks.of(run_tag) == NO_MARKS:
        check_known_run(run_tag, sorted(known), workspace.warehouse)
