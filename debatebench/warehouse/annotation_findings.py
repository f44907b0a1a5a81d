"""What is wrong with the journals of annotations of a run; and what a finding is."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import astuple, dataclass, fields
from pathlib import Path
from typing import Any

from debatebench.journal.reading import all_lines, has_begun, saved_beside
from debatebench.landing.annotation_journals import annotation_records, read_forms
from debatebench.shared.errors import DamagedDataError, NewerDataError


@dataclass(frozen=True, slots=True)
class Finding:
    """One problem that the user should know about. `is_damage` says whether data changed after it was written.

    `finding` is `damaged_line`, `damaged_annotations`, `damaged_journal`, `unreadable_source`, `torn_line`,
    `set_aside`, `ambiguous_call`, `failed_call`, `cut_speech`, `missing_debate`, `silent_judge` (a judge of which no
    verdict counts), `repeated_debates` (an earlier run has them as well), `saved_events`, `changed_import`,
    `not_landed`, `lost_records`, `lost_source`, `unreadable_warehouse` or `leftover`. `count` is the number of places
    that share the detail; `place` is the first of them.
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


def annotation_findings(tag: str, folder: Path, *, has_debates: bool) -> Iterator[Finding]:
    """Damaged and torn lines, saved events and unreadable records in a run's journals of annotations.

    `has_debates` says whether the run itself, or the import, is there.
    """
    is_damaged = False
    for path in sorted(folder.glob("*.jsonl")):
        for saved in saved_beside(path):
            is_damaged = True
            detail = f"It has events that {path.name} does not have: rename it to {path.name}, or move it elsewhere."
            yield Finding(tag, "saved_events", True, str(saved), detail)
        if not has_begun(path):
            continue
        for line in all_lines(path):
            if line.data is not None:
                continue
            place = f"{path}, line {line.number}, byte {line.offset}"
            if line.is_damaged:
                is_damaged = True
                detail = "Restore the file from a copy, or save the rest with `debatebench doctor --salvage`."
                yield Finding(tag, "damaged_annotations", True, place, detail)
            else:
                detail = "The next save sets it aside; it was never acknowledged."
                yield Finding(tag, "torn_line", False, place, detail)
        for side in sorted(folder.glob(f"{path.name}.torn-*")):
            detail = "A torn last line of an earlier session; it was never acknowledged."
            yield Finding(tag, "set_aside", False, str(side), detail)
    if is_damaged:
        return
    try:
        for path in sorted(folder.glob("*.jsonl")):
            if has_begun(path):
                read_forms(path, tag)
        for _ in annotation_records(folder, tag):
            pass
    except NewerDataError as error:
        yield Finding(tag, "newer_journal", False, str(folder), str(error))
    except DamagedDataError as error:
        yield Finding(tag, "damaged_journal", True, str(folder), str(error))
    if not has_debates:
        detail = "The run or import that was annotated is missing; put it back, or move the folder elsewhere."
        yield Finding(tag, "lost_source", True, str(folder), detail)
