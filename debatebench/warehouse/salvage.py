"""Salvage: the sound events of a damaged journal, as a journal with which the run can go on."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from debatebench.journal.reading import all_lines, busy, is_of_shard, is_played_now, known_format
from debatebench.journal.writing import write_journal
from debatebench.shared.errors import DamagedDataError


@dataclass(frozen=True, slots=True)
class Salvaged:
    """The result of salvaging a damaged journal: the new file, and how many events it has and lacks."""

    source: Path
    target: Path
    events: int
    lost: int


def salvage(path: Path) -> Salvaged | None:
    """Copy the sound events of a damaged journal to `<name>.salvaged` next to it; None if no line is damaged.

    Sound events after the damage are kept too, unless they need one that is lost: an attempt without its intent, an
    outcome without its reply. The run sends the missing requests again when it is resumed. The damaged file is only
    read. A journal of annotations keeps every sound event: none of them needs another.

    Raises `NewerDataError` for a journal of a newer version, whose events may need others, and `DamagedDataError` if
    the header is lost, because the answers mean nothing without the frozen plan.
    """
    if is_played_now(path):
        raise busy(path)
    count, is_damaged, is_of_run = 0, False, True
    for line in all_lines(path):
        count += 1
        is_damaged = is_damaged or line.is_damaged
        if line.data is not None and line.data.get("type") in ("header", "format"):
            known_format(path, line.data)
        if line.number == 1:
            is_of_run = "plan" in (line.data or {"plan": None})
        if line.number == 1 and (line.data or {}).get("type") != "header":
            raise DamagedDataError(
                f"The header of {path}, which contains the plan, is damaged; the run can be restored only from a copy "
                "of the file."
            )
    if not is_damaged:
        return None
    sound = (line.data for line in all_lines(path) if line.data is not None)
    target, events = write_journal(
        path.with_name(f"{path.name}.salvaged"),
        _consistent(sound, is_of_shard=is_of_shard(path)) if is_of_run else sound,
    )
    return Salvaged(path, target, events, count - events)


def _consistent(events: Iterable[dict[str, Any]], *, is_of_shard: bool) -> Iterator[dict[str, Any]]:
    """The events that do not depend on lost ones.

    A call counts as answered only with its reply; a debate counts as ended only with every call that it used. The plan
    of a shard is not in its journal, so no part of it can be lost.
    """
    planned: set[str] = set()
    intents: set[tuple[str, int]] = set()
    replies: set[tuple[str, int]] = set()
    answered: set[str] = set()
    for data in events:
        kind = data.get("type")
        planned.update(row["debate_id"] for row in data.get("records", {}).get("schedule", ()))
        if "debate_id" in data and not is_of_shard and data["debate_id"] not in planned:
            continue
        if kind == "intent":
            intents.add((data["call_id"], data["attempt"]))
        elif kind == "response":
            if (data["call_id"], data["attempt"]) not in intents:
                continue
            replies.add((data["call_id"], data["attempt"]))
        elif kind == "outcome" and data.get("of") == "call":
            (row,) = data["records"]["calls"]
            key = (row["call_id"], row["attempt"])
            if key not in intents or (row["status"] == "answered" and key not in replies):
                continue
            if row["status"] == "answered":
                answered.add(row["call_id"])
        elif kind == "outcome" and data.get("of") == "prices":
            if not {(row["call_id"], row["attempt"]) for row in data["records"].get("calls", ())} <= replies:
                continue
        elif kind == "outcome" and not _used_calls(data) <= answered:
            continue
        yield data


def _used_calls(outcome: dict[str, Any]) -> set[str]:
    """The calls whose answers became turns or valid verdicts of a debate."""
    records = outcome["records"]
    rows = [*records.get("turns", ()), *(row for row in records.get("verdicts", ()) if row.get("is_valid"))]
    return {row["call_id"] for row in rows if row.get("call_id")}
