"""Looking for plain debates in a file, line by line; half of a large file is left to a second process.

`python -m debatebench.landing.importers.plain_scan FILE START STOP` is that process: it writes what it finds as JSON
lines.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from hashlib import sha256
from pathlib import Path
from typing import IO, NamedTuple

import msgspec

from debatebench.landing.importers.plain_debates import Outline, plain_debate
from debatebench.landing.importers.strict_json import lines_between

__all__ = ["Line", "look"]

# Bytes; for less, starting a process takes longer than it saves.
_WORTH_A_PROCESS = 32 * 1024 * 1024


class Line(NamedTuple):
    """A line that is not blank: number (from 1) and offset; outline and SHA-256 of the debate in it if it is plain."""

    number: int
    offset: int
    outline: Outline | None
    digest: bytes


def look(path: Path, worth_a_process: int = _WORTH_A_PROCESS) -> Iterator[Line]:
    """Every line of a file that is not blank, in order. With `worth_a_process` bytes or more a second process helps."""
    size = path.stat().st_size
    if size < worth_a_process or not sys.executable:
        yield from _look(path, 0, size)
        return
    middle = _start_of_line(path, size // 2)
    with _second_process(path, middle, size) as second:
        number = 0
        for number, offset, text in lines_between(path, 0, middle):
            if text.strip():
                yield _line(number, offset, text)
        for line in second() or _look(path, middle, size):
            yield line._replace(number=number + line.number)


def _look(path: Path, start: int, stop: int) -> Iterator[Line]:
    """The lines that begin in a range of bytes, numbered from 1."""
    for number, offset, text in lines_between(path, start, stop):
        if text.strip():
            yield _line(number, offset, text)


def _line(number: int, offset: int, text: bytes) -> Line:
    plain = plain_debate(text)
    return Line(number, offset, plain[0], sha256(plain[1]).digest()) if plain else Line(number, offset, None, b"")


def _start_of_line(path: Path, offset: int) -> int:
    """Where the first line begins that does not begin before `offset`."""
    with path.open("rb") as file:
        file.seek(max(offset - 1, 0))
        while (block := file.readline(1024 * 1024)) and not block.endswith(b"\n"):
            pass
        return file.tell()


@contextmanager
def _second_process(path: Path, start: int, stop: int) -> Iterator[Callable[[], Iterator[Line] | None]]:
    """Let a process of its own look at a range; what is given waits for it, and is None when it failed."""
    command = [sys.executable, "-P", "-m", __name__, str(path), str(start), str(stop)]
    # It writes into a file, because nobody reads from a pipe before the first half is done.
    with (
        tempfile.TemporaryFile() as found,
        subprocess.Popen(command, stdout=found, stderr=subprocess.DEVNULL) as process,  # noqa: S603
    ):
        try:
            yield lambda: _read_lines(found) if process.wait() == 0 else None
        finally:
            process.kill()


def _read_lines(found: IO[bytes]) -> Iterator[Line]:
    found.seek(0)
    return map(msgspec.json.Decoder(Line).decode, found)


if __name__ == "__main__":
    write = msgspec.json.Encoder().encode
    for line in _look(Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3])):
        sys.stdout.buffer.write(write(line) + b"\n")
