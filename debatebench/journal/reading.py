"""Reading journals: all events, also while the run goes on; a few kinds of events; or every line of a damaged one."""

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
    """Whether the first event of a journal is complete; before it, no request is sent and there is nothing to land."""
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
            # A line without an end is the last one, even if a running session has written more after it meanwhile.
            elif line.endswith(b"\n") and file.read(1):
                raise DamagedDataError(
                    f"{path}: line {tail.seq + 1} at byte {offset} is damaged; the lines before it are intact. "
                    "Restore the file from a copy, or move it elsewhere to continue without this run."
                )
            else:
                return


def _check_format(path: Path, text: bytes) -> None:
    """Refuse a journal in another version's format before it is misread."""
    if text.startswith(start_of("header")) and (found := data_of(text).get("format")) != JOURNAL_FORMAT:
        raise DamagedDataError(
            f"{path} is a journal of format {found}, but this version of debatebench reads only format "
            f"{JOURNAL_FORMAT}; use the version that wrote it, or a newer one."
        )


def events_at(path: Path, places: Iterable[tuple[int, int]]) -> Iterator[Event]:
    """Yield the events at these places (`seq` and `offset`), which an earlier reading of the journal found sound."""
    try:
        with open(path, "rb") as file:
            for seq, offset in places:
                file.seek(offset)
                line = file.readline()
                yield Event(seq, offset, len(line), text_in(line))
    except OSError as error:
        raise DebatebenchError(f"Cannot read the journal {path}: {error.strerror}.") from error


def events_of(path: Path, kinds: Collection[str]) -> Iterator[dict[str, Any]]:
    """Yield the data of complete events of a few rare kinds, in order, at the speed of the disk.

    The other lines are not parsed as JSON, and checksums are not verified: code that acts on a journal opens it.
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
    """A line of a journal, sound or not: its number from 1, its place, and its data if the line is sound."""

    number: int
    offset: int
    data: dict[str, Any] | None
    is_last: bool


def all_lines(path: Path) -> Iterator[Line]:
    """Yield every line, also after damage: a line is sound if it follows the number and CRC of the line before.

    So a line with changed JSON damages only itself, and a lost line damages only the next one.
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
    """Where reading can continue after a damaged line: at the number and CRC that it carries, if any."""
    number, _, rest = line.partition(b" ")
    crc_text = rest.partition(b" ")[0]
    with suppress(ValueError):
        return Tail(tail.offset + len(line), int(number), int(crc_text, 16))
    return Tail(tail.offset + len(line), tail.seq + 1, 0)


def is_played_now(path: Path) -> bool:
    """Whether a process holds the journal open at this moment."""
    try:
        with open(path, "rb") as file:
            fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    except OSError as error:
        raise DebatebenchError(f"Cannot read the journal {path}: {error.strerror}.") from error
    return False
