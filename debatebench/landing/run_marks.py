"""What people decide about runs: one journal for all of them, its marks, and `raw.run_marks`.

`warehouse/journal/_runs/marks.jsonl` has lines as every journal. After its header, each event sets one mark of a run,
and the last one counts:

    mark  run_tag, mark (`title`, `note`, `excluded`, `pinned` or `archived`), value (a text, or whether it is so), at;
          if archived, `landed_later`: the runs that had landed after it

No run can be named `_runs`.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

import duckdb

from debatebench.journal.lines import JOURNAL_FORMAT, Event
from debatebench.journal.reading import check_saved, has_begun, read_journal
from debatebench.journal.writing import Journal, open_in_turn
from debatebench.shared.duckdb_sql import transaction
from debatebench.shared.errors import DamagedDataError, UsageError
from debatebench.shared.json_bytes import to_json
from debatebench.shared.records import RunMark, clean_text
from debatebench.shared.version import __version__
from debatebench.shared.workspace import Workspace

Mark = Literal["title", "note", "excluded", "pinned", "archived"]

LONGEST_TITLE = 200
LONGEST_NOTE = 20_000
_PURPOSE = "marks"


@dataclass(frozen=True, slots=True)
class RunMarks:
    """The marks of one run. `pinned` is the number of the event that pinned it: the last pinned run has the highest."""

    title: str | None = None
    note: str | None = None
    excluded: bool = False
    pinned: int | None = None
    archived: bool = False


NO_MARKS = RunMarks()


class Marks:
    """The marks of every run: what the events of the journal add up to. Pass every event to `see`."""

    def __init__(self) -> None:
        self._by_run: dict[str, RunMarks] = {}
        self.landed_later: dict[str, list[str]] = {}
        """Run that was archived → the runs that had landed after it at that time."""

    def see(self, event: Event) -> None:
        """Process one event; raises `KeyError`, `TypeError` or `ValueError` if no version wrote it."""
        data = event.data
        if data["type"] in ("header", "format"):
            if data.get("purpose", _PURPOSE) != _PURPOSE:
                raise ValueError(f"the header of a journal of {data['purpose']}")
            return
        if data["type"] != "mark":
            raise KeyError(f"an event of type {data['type']!r}")
        changes: dict[str, Any] = {data["mark"]: _stored(data["mark"], data["value"], event.seq)}
        if "landed_later" in data:
            self.landed_later[str(data["run_tag"])] = [str(tag) for tag in data["landed_later"]]
        self._by_run[str(data["run_tag"])] = replace(self.of(data["run_tag"]), **changes)

    def of(self, run_tag: str) -> RunMarks:
        """The marks of a run, which may have none."""
        return self._by_run.get(run_tag, NO_MARKS)

    @property
    def archived(self) -> frozenset[str]:
        """The tags of the archived runs."""
        return frozenset(tag for tag, marks in self._by_run.items() if marks.archived)

    @property
    def marked(self) -> list[str]:
        """The tags of the runs that have a mark, in order."""
        return sorted(tag for tag, marks in self._by_run.items() if marks != NO_MARKS)

    def records(self) -> list[RunMark]:
        """What lands: a record of every run that has a mark."""
        return [record for tag in self.marked if (record := self.record(tag)) is not None]

    def record(self, run_tag: str) -> RunMark | None:
        """What lands of a run; None if it has no mark."""
        marks = self.of(run_tag)
        if marks == NO_MARKS:
            return None
        pinned = sorted(each.pinned for each in self._by_run.values() if each.pinned is not None)
        return RunMark(
            run_tag=run_tag,
            title=marks.title,
            note=marks.note,
            is_excluded=marks.excluded,
            pin_number=None if marks.pinned is None else pinned.index(marks.pinned) + 1,
            is_archived=marks.archived,
        )


def _stored(mark: Mark, value: Any, seq: int) -> str | int | bool | None:
    """A mark as `RunMarks` holds it."""
    if mark in ("title", "note"):
        if not isinstance(value, str):
            raise TypeError(f"a {mark} that is not a text")
        return value or None
    if not isinstance(value, bool):
        raise TypeError(f"{mark}: {value!r} is neither true nor false")
    if mark == "pinned":
        return seq if value else None
    return value


def marks_journal(workspace: Workspace) -> Path:
    """The journal of marks, which need not exist."""
    return workspace.journal / "_runs" / "marks.jsonl"


def read_marks(workspace: Workspace) -> Marks:
    """The marks as they are now. Raises `DamagedDataError` for a damaged journal and for an event that is unknown."""
    return read_marks_at(marks_journal(workspace))


def read_marks_at(path: Path) -> Marks:
    """The same, of the journal at `path`."""
    marks = Marks()
    check_saved(path)
    if path.is_file() and has_begun(path):
        for event in read_journal(path):
            _see(path, marks, event)
    return marks


def _see(path: Path, marks: Marks, event: Event) -> None:
    try:
        marks.see(event)
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise DamagedDataError(
            f"{path}: event {event.seq} at byte {event.offset} cannot be read by this version of debatebench: "
            f"{error!r}."
        ) from error


class OpenMarks:
    """The journal of marks while this process holds it, and the marks. Another process waits until it is released."""

    def __init__(self, journal: Journal, marks: Marks) -> None:
        self._journal = journal
        self.marks = marks

    def set(self, run_tag: str, mark: Mark, value: str | bool, at: str, **more: Any) -> bool:
        """Set a mark, and return whether that changes anything; `at` is the time. It is durable when `marking` ends.

        `more` is kept with it.
        """
        before = getattr(self.marks.of(run_tag), mark)
        if (before or "") == value if isinstance(value, str) else (before not in (None, False)) == value:
            return False
        if not self._journal.count:
            self._journal.append(
                {"type": "header", "format": JOURNAL_FORMAT, "purpose": _PURPOSE, "harness_version": __version__},
                with_next=True,
            )
        data = {"type": "mark", "run_tag": run_tag, "mark": mark, "value": value, "at": at, **more}
        seq = self._journal.append(data)
        self.marks.see(Event(seq, 0, 0, to_json(data)))
        return True


@contextmanager
def marking(workspace: Workspace) -> Iterator[OpenMarks]:
    """Hold the journal of marks. At the end, what was set is on the disk; an error says that it is not.

    Raises `BusyError` if another process holds it for long, and `DamagedDataError` as `read_marks` does.
    """
    path = marks_journal(workspace)
    marks = Marks()
    with open_in_turn(path, lambda event: _see(path, marks, event)) as journal:
        yield OpenMarks(journal, marks)


def checked_text(mark: Literal["title", "note"], text: str) -> str:
    """A title or note as it is kept, without blanks around it; raises `UsageError` for one that cannot be."""
    kept = clean_text(text).strip()
    longest = LONGEST_TITLE if mark == "title" else LONGEST_NOTE
    if len(kept) > longest:
        raise UsageError(f"This {mark} has {len(kept):,} characters; a {mark} may have {longest:,}.")
    if mark == "title" and len(kept.splitlines()) > 1:
        raise UsageError("A title is one line; `debatebench runs note` takes a longer text.")
    return kept


def check_not_archived(workspace: Workspace, run_tag: str) -> None:
    """Raise `UsageError` if a run is archived, so that its tag is taken but nothing can be added to it."""
    if read_marks(workspace).of(run_tag).archived:
        raise UsageError(
            f"Run '{run_tag}' is archived: `debatebench runs restore {run_tag}` brings it back, or choose another tag."
        )


def landed_marks(con: duckdb.DuckDBPyConnection) -> list[RunMark]:
    """The marks that have landed, by run tag; none in a warehouse of a version without marks."""
    columns = list(RunMark.model_fields)
    try:
        rows = con.execute(f"select {', '.join(columns)} from raw.run_marks order by run_tag").fetchall()
    except (duckdb.CatalogException, duckdb.BinderException):
        return []
    return [RunMark(**dict(zip(columns, row, strict=True))) for row in rows]


def land_marks(con: duckdb.DuckDBPyConnection, records: list[RunMark]) -> bool:
    """Make the rows of `raw.run_marks` those of `records`, and return whether they were others."""
    if landed_marks(con) == records:
        return False
    columns = list(RunMark.model_fields)
    values = ", ".join("?" for _ in columns)
    with transaction(con):
        con.execute("delete from raw.run_marks")
        for record in records:
            row = [getattr(record, name) for name in columns]
            con.execute(f"insert into raw.run_marks ({', '.join(columns)}) values ({values})", row)
    return True
