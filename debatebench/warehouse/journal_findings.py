"""What is wrong with the lines of a journal and with the journals of annotations of a run; and what a finding is."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import astuple, dataclass, fields
from pathlib import Path
from typing import Any

from debatebench.journal.reading import all_lines, has_begun, is_played_now, saved_beside
from debatebench.landing.annotation_journals import annotation_records, read_forms, unfinished_forms
from debatebench.landing.run_marks import read_marks_at
from debatebench.shared.errors import DamagedDataError, NewerDataError


@dataclass(frozen=True, slots=True)
class Finding:
    """One problem that the user should know about. `is_damage` says whether data changed after it was written.

    `finding` is `damaged_line`, `damaged_annotations`, `damaged_journal`, `unreadable_source`, `torn_line`,
    `set_aside`, `ambiguous_call`, `failed_call`, `cut_speech`, `missing_debate`, `missing_shard`, `silent_judge` (a
    judge of which no verdict counts), `repeated_debates` (an earlier run has them as well), `not_handed_in` (an
    annotation that was changed since it was handed in), `saved_events`, `changed_import`, `unfinished_archive` (a
    killed command has not moved all of an archived run), `not_landed`, `lost_records`, `lost_source`,
    `unreadable_warehouse` or `leftover`.
    `count` is the number of places that share the detail; `place` is the first of them.
    """

    run_tag: str
    finding: str
    is_damage: bool
    place: str
    detail: str
    count: int = 1

    @classmethod
    def columns(cls) -> list[str]:
        """The names of the fields."""
        return [field.name for field in fields(cls)]

    def row(self) -> tuple[Any, ...]:
        """The values of the fields."""
        return astuple(self)


def saved_events(tag: str, journal: Path) -> Iterator[Finding]:
    """What was saved when another program replaced or moved the journal while it was being written."""
    for path in saved_beside(journal):
        detail = f"It has events that {journal.name} does not have: rename it to {journal.name}, or move it elsewhere."
        yield Finding(tag, "saved_events", True, str(path), detail)


def line_findings(
    tag: str, path: Path, *, kind: str = "damaged_line", writer: str = "`debatebench run`", purpose: str = "used"
) -> Iterator[Finding]:
    """The damaged lines of a journal, and torn last lines; none of a journal that has not begun.

    `kind` is the finding of a damaged line. `writer` is what sets a torn line aside, which was never `purpose`.
    """
    if not has_begun(path):
        return
    for line in all_lines(path):
        place = f"{path}, line {line.number}, byte {line.offset}"
        if line.is_damaged:
            detail = "Restore the file from a copy, or save the rest with `debatebench doctor --salvage`."
            yield Finding(tag, kind, True, place, detail)
        elif line.data is None and not is_played_now(path):
            yield Finding(tag, "torn_line", False, place, f"The next {writer} sets it aside; it was never {purpose}.")
    for side in sorted(path.parent.glob(f"{path.name}.torn-*")):
        detail = f"A torn last line of an earlier session; it was never {purpose}."
        yield Finding(tag, "set_aside", False, str(side), detail)


def mark_findings(path: Path) -> Iterator[Finding]:
    """Damaged and torn lines, saved events and unknown marks in the journal of what people decided about runs."""
    found = [*saved_events("", path)]
    if path.is_file():
        found += line_findings("", path, writer="`debatebench runs` command", purpose="acknowledged")
    yield from found
    if any(finding.is_damage for finding in found):
        return
    try:
        read_marks_at(path)
    except NewerDataError as error:
        yield Finding("", "newer_journal", False, str(path), str(error))
    except DamagedDataError as error:
        yield Finding("", "damaged_journal", True, str(path), str(error))


def annotation_findings(tag: str, folder: Path, *, has_debates: bool) -> Iterator[Finding]:
    """Damaged and torn lines, saved events, unreadable records and forms changed since in a run's annotations.

    `has_debates` says whether the run itself, or the import, is there.
    """
    found: list[Finding] = []
    for path in sorted(folder.glob("*.jsonl")):
        found += saved_events(tag, path)
        found += line_findings(tag, path, kind="damaged_annotations", writer="save", purpose="acknowledged")
    yield from found
    if any(finding.is_damage for finding in found):
        return
    try:
        for path in sorted(folder.glob("*.jsonl")):
            if has_begun(path):
                read_forms(path, tag)
        for _ in annotation_records(folder, tag):
            pass
        for unfinished in unfinished_forms(folder, tag):
            for debate_id in unfinished.debate_ids:
                place = f"{unfinished.path}, debate '{debate_id}'"
                yield Finding(tag, "not_handed_in", False, place, str(unfinished))
    except NewerDataError as error:
        yield Finding(tag, "newer_journal", False, str(folder), str(error))
    except DamagedDataError as error:
        yield Finding(tag, "damaged_journal", True, str(folder), str(error))
    if not has_debates:
        detail = "The run or import that was annotated is missing; put it back, or move the folder elsewhere."
        yield Finding(tag, "lost_source", True, str(folder), detail)
