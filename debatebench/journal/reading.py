"""Reading journals: all events, also while the run goes on; a few kinds of events; or every line of a damaged one."""

from __future__ import annotations

import glob
import os
import re
from collections.abc import Collection, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

from debatebench.journal.lines import JOURNAL_FORMAT, Event, Tail, data_of, start_of, text_in, text_of_next
from debatebench.shared.errors import BusyError, DamagedDataError, DebatebenchError, NewerDataError
from debatebench.shared.json_bytes import from_json
from debatebench.shared.locks import is_locked, lock_file

SHARDS = ".shards"
"""What the name of a folder with the journals of a run's shards ends with."""

_FORMATS = range(1, JOURNAL_FORMAT + 1)
_STATING_FORMAT = (start_of("header"), start_of("format"))
_READ_AT_ONCE = 1 << 20
_NUMBER_AND_CRC = re.compile(rb"(\d{1,18}) ([0-9a-f]{8}) \{")
# More would only be found in a line that was made to contain them.
_MOST_STARTS = 1000


def run_of(path: Path) -> str:
    """The run of a journal, of a shard's journal or of a folder of shards."""
    for place in (path.parent, path):
        if place.name.endswith(SHARDS):
            return place.name.removesuffix(SHARDS)
    return path.stem


def is_of_shard(path: Path) -> bool:
    """Whether a journal is that of a shard, by its place."""
    return path.parent.name.endswith(SHARDS)


def _named(path: Path) -> str:
    """What a journal is about, in words."""
    return f"shard {path.stem} of run '{run_of(path)}'" if is_of_shard(path) else f"run '{path.stem}'"


def has_begun(path: Path) -> bool:
    """Whether the first event of a journal is complete; before it, no request is sent and there is nothing to land."""
    try:
        with open(path, "rb") as file:
            return file.readline().endswith(b"\n")
    except OSError as error:
        raise DebatebenchError(f"Cannot read the journal {path}: {error.strerror}.") from error


def end_of_lines(file: IO[bytes]) -> int:
    """The number of bytes up to the last line end."""
    end = file.seek(0, os.SEEK_END)
    while end > 0:
        start = max(0, end - _READ_AT_ONCE)
        file.seek(start)
        found = file.read(end - start).rfind(b"\n")
        if found >= 0:
            return start + found + 1
        end = start
    return 0


def read_journal(path: Path) -> Iterator[Event]:
    """Yield the events of a journal in order, also while its run goes on; a last line without an end is not an event.

    Raises `DamagedDataError` with file, line and byte offset for any other damage.
    """
    try:
        yield from sound_events(path, Tail())
    except OSError as error:
        raise DebatebenchError(f"Cannot read the journal {path}: {error.strerror}.") from error


def sound_events(path: Path, tail: Tail) -> Iterator[Event]:
    """Yield sound events and move `tail`; stop at a last line without an end; raise at any other damage."""
    with open(path, "rb", buffering=_READ_AT_ONCE) as file:
        for line in file:
            offset = tail.offset
            text = text_of_next(line, tail)
            if text is not None:
                if text.startswith(_STATING_FORMAT):
                    tail.format = known_format(path, data_of(text))
                yield Event(tail.seq, offset, len(line), text)
            # Each event is written at once, so only a line without an end is torn. It is the last one, even if a
            # running session has written more after it meanwhile.
            elif line.endswith(b"\n"):
                raise DamagedDataError(
                    f"{path}: line {tail.seq + 1} at byte {offset} is damaged; the lines before it are intact. "
                    "Restore the file from a copy, or move it elsewhere to continue without this run."
                )
            else:
                return


def known_format(path: Path, data: dict[str, Any]) -> int:
    """The format that a header or a `format` event states.

    Raises `NewerDataError` for that of a newer version, before the events after it are misread.
    """
    found: Any = data.get("format")
    if found not in _FORMATS:
        raise NewerDataError(
            f"{path} is a journal of format {found}, written by a newer version of debatebench; this version reads "
            f"formats up to {JOURNAL_FORMAT}. Use the version that wrote it, or a newer one."
        )
    return int(found)


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
    """A line of a journal, sound or not: its number from 1, its place, and its data if the line is sound.

    A torn line is the last one and has no end; its event was never used.
    """

    number: int
    offset: int
    data: dict[str, Any] | None
    is_torn: bool

    @property
    def is_damaged(self) -> bool:
        """Whether the line was changed after it was written."""
        return self.data is None and not self.is_torn


def all_lines(path: Path) -> Iterator[Line]:
    """Yield every line, also after damage: a line is sound if it follows the number and CRC of a line before it.

    That is the last sound line, or a damaged one after it. So a line with changed JSON damages only itself, a lost
    line only the next one, and a foreign line no other.
    """
    try:
        with open(path, "rb") as file:
            tails, offset = [Tail()], 0
            for number, line in enumerate(file, 1):
                text = None
                for tail in reversed(tails):
                    text = text_of_next(line, tail)
                    if text is not None:
                        tails = [tail]
                        break
                else:
                    tails[1:] = [*tails[1:], *_starts_behind(line)][-_MOST_STARTS:]
                is_whole = line.endswith(b"\n")
                yield Line(number, offset, None if text is None else data_of(text), is_torn=not is_whole)
                offset += len(line)
                if not is_whole:
                    # A running session may have written its end meanwhile.
                    return
    except OSError as error:
        raise DebatebenchError(f"Cannot read the journal {path}: {error.strerror}.") from error


def _starts_behind(line: bytes) -> Iterator[Tail]:
    """Where reading may continue after a damaged line: at the numbers and CRCs in it, which may be those of several
    lines whose ends are lost.
    """
    for number, crc in _NUMBER_AND_CRC.findall(line):
        yield Tail(0, int(number), int(crc, 16))


def saved_name(path: Path) -> Path:
    """Where the events of a run are saved if its journal loses its name during the run."""
    return path.with_name(f"{path.name}.saved")


def saved_beside(path: Path) -> list[Path]:
    """The saved files of a run with events that its journal, which may be missing, does not have."""
    files = sorted(path.parent.glob(f"{glob.escape(saved_name(path).name)}*"))
    return [file for file in files if not _begins_with(path, file)]


def check_saved(path: Path) -> None:
    """Raise `DamagedDataError` if a saved file of the run has events that its journal does not have."""
    for saved in saved_beside(path):
        raise DamagedDataError(
            f"{saved} contains events of {_named(path)} that {path} does not have, because another program replaced "
            f"or moved the journal during the run. Rename it to {path.name} to go on with it, or move it elsewhere."
        )


def _begins_with(path: Path, saved: Path) -> bool:
    """Whether the journal has all that was saved."""
    with suppress(FileNotFoundError), open(path, "rb") as journal, open(saved, "rb") as other:
        while block := other.read(_READ_AT_ONCE):
            if journal.read(len(block)) != block:
                return False
        return True
    return False


def busy(path: Path) -> BusyError:
    """The error for a run that another process plays."""
    return BusyError(f"Another process is playing {_named(path)}; wait until it ends, or stop it.")


def check_free(path: Path) -> None:
    """Raise what `Journal.open` raises for a run that another process plays, or whose events were saved elsewhere."""
    if is_played_now(path):
        raise busy(path)
    check_saved(path)


def is_played_now(path: Path) -> bool:
    """Whether a process plays the run of this journal at this moment."""
    try:
        return is_locked(lock_file(path)) or is_locked(path)
    except OSError as error:
        raise DebatebenchError(f"Cannot read the journal {path}: {error.strerror}.") from error
