"""Reading a large file in chunks, most of them in a second process."""

from __future__ import annotations

import gc
import subprocess
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import IO, TypeVar, cast

# Bytes. Small chunks stay in the processor's cache; for a small file, a second process costs more time than it saves.
_CHUNK = 256 * 1024
_WORTH_A_PROCESS = 32 * 1024 * 1024
_PIPE = 1024 * 1024  # A small pipe costs twice the time, because both processes are woken for each 64 KiB.

Chunk = tuple[int, int]
"""The lines that begin at or after one offset in a file and before another."""
T = TypeVar("T")


def read_in_two(
    path: Path, read: Callable[[Chunk], T], decode: Callable[[bytes], T], module: str, *arguments: str
) -> Iterator[T]:
    """The result of `read` for each chunk of a file, in order.

    For a large file, `python -m MODULE ARGUMENTS` reads three of five chunks with `write_chunks`, and `decode` turns
    its output into what `read` would have returned. If that process fails, this one reads its chunks too.
    """
    chunks = _chunks(path)
    if path.stat().st_size < _WORTH_A_PROCESS or not sys.executable:
        yield from map(read, chunks)
        return
    command = [sys.executable, "-P", "-m", module, *arguments]
    with (
        subprocess.Popen(  # noqa: S603
            command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, pipesize=_PIPE
        ) as process,
        ThreadPoolExecutor(1) as pool,
    ):
        receive = partial(_receive, cast(IO[bytes], process.stdout))
        try:
            # The next chunk is received while this process reads its own.
            coming = pool.submit(receive)
            for index, chunk in enumerate(chunks):
                if _is_second(index):
                    text = coming.result()
                    coming = pool.submit(receive)
                    yield decode(text) if text else read(chunk)
                else:
                    yield read(chunk)
        finally:
            process.kill()


def write_chunks(path: Path, read: Callable[[Chunk], bytes]) -> None:
    """Write the result of `read` to stdout for each chunk that the second process reads."""
    gc.disable()  # What is read has no cycles.
    for index, chunk in enumerate(_chunks(path)):
        if _is_second(index):
            text = read(chunk)
            sys.stdout.buffer.write(len(text).to_bytes(8))
            sys.stdout.buffer.write(text)
            sys.stdout.buffer.flush()


def _is_second(index: int) -> bool:
    # Three of five, because the first process also combines what both read.
    return index % 5 in (1, 3, 4)


def _receive(source: IO[bytes]) -> bytes:
    """What was written for one chunk; nothing if the process ended first."""
    size = int.from_bytes(source.read(8))
    text = source.read(size)
    return text if len(text) == size else b""


def _chunks(path: Path) -> list[Chunk]:
    size = path.stat().st_size
    with path.open("rb") as file:
        starts = {_start_of_line(file, offset) for offset in range(0, size, _CHUNK)}
    return list(pairwise(sorted({*starts, size})))


def _start_of_line(file: IO[bytes], offset: int) -> int:
    """The offset at which the first line at or after `offset` begins."""
    file.seek(max(offset - 1, 0))
    if offset:
        while (block := file.readline(1024 * 1024)) and not block.endswith(b"\n"):
            pass
    return file.tell()
