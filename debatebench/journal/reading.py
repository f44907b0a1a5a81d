"""Reading journals: the events of one that may be going on, a few events of it, or every line of a damaged one."""

from __future__ import annotations

import fcntl
from collections.abc import Collection, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from debatebench.journal.lines import JOURNAL_FORMAT, Event, Tail, data_of, start_of, text_in, text_of_next
from debatebench.shared.errors import DamagedDataError, DebatebenchError
from debatebench.shared.json_bytes import from_json

__all__ = [
    "Line",
    "all_lines",
    "events_at",
    "events_of",
    "has_begun",
    "is_played_now",
    "read_journal",
    "sound_events",
]

_READ_AT_ONCE = 1 << 20


def has_begun(path: Path) -> bool:
    """Whether the first event of a journal is whole; before it, nothing was asked and there is nothing to land."""
    try:
        with open(path, "rb") as file:
            return file.readline().endswith(b"\n")
    except OSError as error:
        raise DebatebenchError(f"Cannot read the journal {path}: {error.strerror}.") from error


def read_journal(path: Path) -> Iterator[Event]:
    """Yield the events of a journal in order, also while its run goes on; a torn last line is not an event.

    Raises `DamagedDataError` with file, line and byte offset for damage anywhere else.
    """
    try:
        yield from sound_events(path, Tail())
    except OSError as error:
        raise DebatebenchError(f"Cannot read the journal {path}: {error.strerror}.") from error


def sound_events(path: Path, tail: Tail) -> Iterator[Event]:
    """Yield sound events and move `tail`; stop at a torn last line; raise at damage anywhere else."""
    with open(path, "rb", buffering=_READ_AT_ONCE) as file:
        for line in file:
            offset = tail.offset
            text = text_of_next(line, tail)
            if text is not None:
                _check_format(path, text)
                yield Event(tail.seq, offset, len(line), text)
            # A line without an end is the last one, whatever a run that goes on has written behind it meanwhile.
            elif line.endswith(b"\n") and file.read(1):
                raise DamagedDataError(
                    f"{path}: line {tail.seq + 1} at byte {offset} is damaged, the lines before it are sound. "
                    "Restore the file from a copy, or move it elsewhere to go on without this run."
                )
            else:
                return


def _check_format(path: Path, text: bytes) -> None:
    """Refuse what another version wrote in another way, before it is misread."""
    if text.startswith(start_of("header")) and (found := data_of(text).get("format")) != JOURNAL_FORMAT:
        raise DamagedDataError(
            f"{path} is a journal of format {found}, and this version of debatebench knows format "
            f"{JOURNAL_FORMAT} only; use the version that wrote it, or a newer one."
        )


def events_at(path: Path, places: Iterable[tuple[int, int]]) -> Iterator[Event]:
    """Yield the events at these places (`seq` and `offset`), which a reading of the journal has found sound before."""
    try:
        with open(path, "rb") as file:
            for seq, offset in places:
                file.seek(offset)
                line = file.readline()
                yield Event(seq, offset, len(line), text_in(line))
    except OSError as error:
        raise DebatebenchError(f"Cannot read the journal {path}: {error.strerror}.") from error


def events_of(path: Path, kinds: Collection[str]) -> Iterator[dict[str, Any]]:
    """Yield the data of whole events of a few rare kinds, in order, at the speed of the disk.

    The other lines are not read as JSON, and no checksum is looked at: whoever acts on a journal opens it.
    """
    starts = tuple(map(start_of, kinds))
    try:
        with open(path, "rb") as file:
            for line in file:
                payload = line[line.find(b" ", line.find(b" ") + 1) + 1 :] if line.endswith(b"\n") else b""
                if payload.startswith(starts):
                    with suppress(ValueError):
                        yield from_json(payload)
    except OSError as error:
        raise DebatebenchError(f"Cannot read the journal {path}: {error.strerror}.") from error


@dataclass(frozen=True, slots=True)
class Line:
    """A line of a journal, sound or not: its number from 1, its place, and its data when it is what was written."""

    number: int
    offset: int
    data: dict[str, Any] | None
    is_last: bool


def all_lines(path: Path) -> Iterator[Line]:
    """Yield every line, also behind damage: one is sound when it follows what the line before it says of itself.

    So a line whose JSON was changed damages itself alone, and a line that is gone only the next one.
    """
    try:
        with open(path, "rb") as file:
            tail, number = Tail(), 0
            line = file.readline()
            while line:
                number += 1
                following = file.readline()
                offset = tail.offset
                text = text_of_next(line, tail)
                yield Line(number, offset, None if text is None else data_of(text), is_last=not following)
                if text is None:
                    tail = _restart_behind(line, tail)
                line = following
    except OSError as error:
        raise DebatebenchError(f"Cannot read the journal {path}: {error.strerror}.") from error


def _restart_behind(line: bytes, tail: Tail) -> Tail:
    """Where reading can go on behind a damaged line: at the number and CRC that it carries, if it carries any."""
    number, _, rest = line.partition(b" ")
    crc_text = rest.partition(b" ")[0]
    with suppress(ValueError):
        return Tail(tail.offset + len(line), int(number), int(crc_text, 16))
    return Tail(tail.offset + len(line), tail.seq + 1, 0)


def is_played_now(path: Path) -> bool:
    """Whether a process holds the journal at this moment."""
    try:
        with open(path, "rb") as file:
            fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    except OSError as error:
        raise DebatebenchError(f"Cannot read the journal {path}: {error.strerror}.") from error
    return False
