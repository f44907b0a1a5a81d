"""The file of a frozen plan: lines as in a journal, the plan first and then each debate, so that a part can be read.

    plan    format, run_tag, debates, stored, plan, limits, records: all but the debates, and the records that follow
    stored  a stored debate that is judged, in a plan of those
    debate  row (its record of the schedule), calls and cost that are expected, and what attacks make of its speeches

The hash of the whole file is the identity of the plan.
"""

from __future__ import annotations

import hashlib
from array import array
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from functools import cache
from math import nan
from pathlib import Path
from typing import IO, Annotated, Any

import msgspec

from debatebench.journal.events import Records
from debatebench.journal.lines import Tail, text_in, text_of_next
from debatebench.shared.errors import DamagedDataError, DebatebenchError, NewerDataError, UsageError

PLAN_FORMAT = 1
"""Rises when a plan file holds what an older version would misread."""

NO_COPY = msgspec.Raw(b"null")
"""The copy of a debate that no attack alters."""

_READ_AT_ONCE = 1 << 20
# Of one debate: calls, or USD.
_MOST = 1_000_000


class PlanHead(msgspec.Struct, frozen=True, tag="plan"):
    """The first line: how many lines follow, and all of the plan that is not about one debate."""

    format: int
    run_tag: str
    debates: int
    stored: int
    plan: dict[str, Any]
    limits: dict[str, dict[str, dict[str, Any]]]
    records: Records


class StoredLine(msgspec.Struct, frozen=True, tag="stored"):
    """A stored debate that is judged."""

    debate: msgspec.Raw


class DebateLine(msgspec.Struct, frozen=True, tag="debate"):
    """A debate of the plan, and the calls and USD that it is expected to take; no cost where a price is unknown."""

    row: msgspec.Raw
    calls: int
    cost: float | None = None
    copy: msgspec.Raw = NO_COPY


class _Use(msgspec.Struct, frozen=True, tag="debate"):
    calls: Annotated[int, msgspec.Meta(ge=0, le=_MOST)]
    cost: Annotated[float, msgspec.Meta(ge=0, le=_MOST)] | None = None


class _Format(msgspec.Struct, frozen=True, tag="plan"):
    format: int


@dataclass(slots=True)
class PlanLines:
    """What a whole, undamaged plan file holds. `calls` and `costs` are those of each debate, `nan` if unknown."""

    path: Path
    head: PlanHead
    sha256: str
    calls: array[int] = field(default_factory=lambda: array("q"))
    costs: array[float] = field(default_factory=lambda: array("d"))
    places: array[int] = field(default_factory=lambda: array("q"))
    """Where the line of each debate begins."""
    stored_places: array[int] = field(default_factory=lambda: array("q"))

    def debates(self, numbers: Iterable[int]) -> Iterator[DebateLine]:
        """The debates with these numbers, counted from 0 in the order of the plan."""
        read = _decoder(DebateLine).decode
        with _opened(self.path) as file:
            for number in numbers:
                file.seek(self.places[number])
                yield read(text_in(file.readline()))

    def stored(self) -> Iterator[StoredLine]:
        """The stored debates, in order."""
        read = _decoder(StoredLine).decode
        with _opened(self.path) as file:
            for place in self.stored_places:
                file.seek(place)
                yield read(text_in(file.readline()))


@cache
def _decoder(kind: type[Any]) -> msgspec.json.Decoder[Any]:
    return msgspec.json.Decoder(kind)


def _opened(path: Path) -> IO[bytes]:
    try:
        return open(path, "rb", buffering=_READ_AT_ONCE)
    except OSError as error:
        raise UsageError(f"The plan {path} cannot be read: {error.strerror}.") from error


def read_plan_lines(path: Path) -> PlanLines:
    """Read a plan file to its end. Memory grows with the number of debates by 24 bytes for each.

    Raises `UsageError` for a file that is no plan, `NewerDataError` for one of a newer version, and `DamagedDataError`
    for one that was changed or cut off.
    """
    try:
        with _opened(path) as file:
            return _read(path, file)
    except RecursionError as error:
        raise damaged_plan(path, "a line is nested too deeply") from error
    except OSError as error:
        raise DebatebenchError(f"The plan {path} cannot be read: {error.strerror}.") from error


def _read(path: Path, file: IO[bytes]) -> PlanLines:
    digest, tail = hashlib.sha256(), Tail()
    first = file.readline()
    digest.update(first)
    found = PlanLines(path, _head(path, first, tail), "")
    read, stored = _decoder(_Use).decode, found.head.stored
    for line in file:
        offset = tail.offset
        text = text_of_next(line, tail)
        if text is None:
            raise damaged_plan(path, f"line {tail.seq + 1} at byte {offset} is damaged")
        digest.update(line)
        if len(found.stored_places) < stored:
            found.stored_places.append(offset)
            continue
        try:
            use = read(text)
        except ValueError as error:
            raise damaged_plan(path, f"line {tail.seq} at byte {offset} is not a debate") from error
        found.places.append(offset)
        found.calls.append(use.calls)
        found.costs.append(nan if use.cost is None else use.cost)
    if (len(found.stored_places), len(found.places)) != (stored, found.head.debates):
        raise damaged_plan(path, f"it has {len(found.places):,} of {found.head.debates:,} debates")
    found.sha256 = digest.hexdigest()
    return found


def _head(path: Path, line: bytes, tail: Tail) -> PlanHead:
    text = text_of_next(line, tail)
    if text is None:
        if line.startswith(b"1 ") and b'{"type":"plan"' in line[:40]:
            raise damaged_plan(path, "line 1 at byte 0 is damaged")
        raise UsageError(
            f"{path} is not the file of a plan; `debatebench run --dry-run --plan-output FILE` writes one."
        )
    try:
        stated = _decoder(_Format).decode(text).format
    except ValueError as error:
        raise UsageError(
            f"{path} is not the file of a plan; `debatebench run --dry-run --plan-output FILE` writes one."
        ) from error
    if stated != PLAN_FORMAT:
        raise newer_plan(path)
    try:
        head: PlanHead = _decoder(PlanHead).decode(text)
    except ValueError as error:
        raise newer_plan(path) from error
    return head


def newer_plan(path: Path) -> NewerDataError:
    """The error for an undamaged plan that this version cannot read."""
    return NewerDataError(
        f"{path} is a plan of another version of debatebench, which this version cannot read; use the version that "
        "wrote it, or write the plan again with this one. The file is not damaged."
    )


def damaged_plan(path: Path, what: str) -> DamagedDataError:
    """The error for a plan that is not as it was written; `what` is wrong, in words."""
    return DamagedDataError(f"The plan {path} was changed or cut off: {what}. Copy it again from where it was written.")
