"""Measure commands: each in a process of its own, contestants by turns, a bounded number of rounds.

CPU is user and system time of a process and of all that it started, in seconds. Memory is the peak of the largest of
these processes, in MB. On Linux, what a process leaves behind (as pyspark does its Java) becomes a child of this one,
so it counts, too. This module imports little, because Linux counts the memory of the process that starts another as the
other's lowest peak.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import resource
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

# Linux counts memory in KiB, macOS in bytes.
MEMORY_UNITS_PER_MB = 1024 if sys.platform == "linux" else 1024**2
LIMIT_S = 900.0
_PR_SET_CHILD_SUBREAPER = 36


class CommandError(Exception):
    """A command that could not be started, failed or took too long; the text is one sentence."""


@dataclass(frozen=True)
class Command:
    """A command line, what it adds to the environment, and the folder in which it runs."""

    words: Sequence[str]
    environ: Mapping[str, str] = field(default_factory=dict)
    folder: Path = Path(tempfile.gettempdir())


@dataclass(frozen=True)
class Sample:
    """One finished process: seconds of CPU and on the clock, peak memory in MB."""

    cpu_s: float
    wall_s: float
    peak_mb: float


@dataclass(frozen=True)
class Contestant:
    """What takes part in a case: `prepare` is not measured, `command` is."""

    name: str
    command: Command
    prepare: Callable[[], None] = lambda: None
    # The command measures its own step, and prints its CPU seconds as its last word.
    is_step: bool = False
    # What the command found, if others must find the same.
    found: Path | None = None
    limit_s: float = LIMIT_S


def measured(command: Command, *, is_step: bool = False, limit_s: float = LIMIT_S) -> Sample:
    """Run a command to its end. Raises `CommandError`."""
    others = _children()
    with tempfile.TemporaryFile("w+", errors="replace") as said:
        started = time.perf_counter()
        try:
            process = subprocess.Popen(
                list(command.words),
                cwd=command.folder,
                env={**os.environ, **command.environ},
                stdin=subprocess.DEVNULL,
                stdout=said,
                stderr=said,
                start_new_session=True,
            )
        except OSError as error:
            raise CommandError(f"`{command.words[0]}` could not be started: {error.strerror}.") from None
        has_ended = threading.Event()
        with _stopped_after(process, limit_s, has_ended) as was_stopped:
            try:
                _, status, usage = os.wait4(process.pid, 0)
                usages = [usage, *_left_behind(others)]
            except BaseException:
                _kill(process.pid)
                raise
            finally:
                has_ended.set()
        wall_s = time.perf_counter() - started
        process.returncode = os.waitstatus_to_exitcode(status)
        said.seek(0)
        text = said.read()
    if was_stopped.is_set():
        raise CommandError(f"It took longer than {limit_s:g} seconds and was stopped.")
    if process.returncode:
        raise CommandError(f"It ended with exit code {process.returncode}: {last_line(text)}")
    cpu_s = sum(usage.ru_utime + usage.ru_stime for usage in usages)
    if is_step:
        try:
            cpu_s = float(text.split()[-1])
        except (IndexError, ValueError):
            raise CommandError(f"It printed no CPU seconds: {last_line(text)}") from None
    return Sample(cpu_s, wall_s, max(usage.ru_maxrss for usage in usages) / MEMORY_UNITS_PER_MB)


def adopt_orphans() -> None:
    """Let what other processes leave behind become children of this process. Only Linux can."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


def _children() -> set[int]:
    """The children of this process; none where there is no /proc."""
    found = set()
    for stat in Path("/proc").glob("[0-9]*/stat"):
        # It may have ended since. /proc/self/task/*/children can leave some out while threads and children end.
        with contextlib.suppress(OSError):
            _state, parent, *_ = stat.read_text(errors="replace").rpartition(")")[2].split()
            if int(parent) == os.getpid():
                found.add(int(stat.parent.name))
    return found


def _left_behind(others: set[int]) -> Iterator[resource.struct_rusage]:
    """Wait for the children that a process has left behind, until there are none besides `others`."""
    while orphans := _children() - others:
        for pid in orphans:
            with contextlib.suppress(ChildProcessError):
                yield os.wait4(pid, 0)[2]


@contextlib.contextmanager
def _stopped_after(
    process: subprocess.Popen[str], limit_s: float, has_ended: threading.Event
) -> Iterator[threading.Event]:
    """Kill the process and its children after the limit, unless it has ended; the event says whether it was."""
    was_stopped = threading.Event()

    def watch() -> None:
        if not has_ended.wait(limit_s):
            was_stopped.set()
            _kill(process.pid)

    watcher = threading.Thread(target=watch, daemon=True)
    watcher.start()
    yield was_stopped
    watcher.join()


def _kill(pid: int) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.killpg(pid, signal.SIGKILL)


def last_line(text: str) -> str:
    """The last line that says something, at most 200 characters."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return lines[-1][:200] if lines else "it said nothing."


@dataclass
class Rounds:
    """What was measured: samples by contestant, one per round, and why others have none."""

    samples: dict[str, list[Sample]]
    failures: dict[str, str] = field(default_factory=dict)


def by_turns(
    contestants: Sequence[Contestant],
    *,
    repeat: int,
    budget_s: float,
    warm_up: bool = True,
    measure: Callable[[Contestant], Sample] | None = None,
    clock: Callable[[], float] = time.monotonic,
) -> Rounds:
    """Measure every contestant once per round, in an order that is turned round after each.

    There are `repeat` rounds, or fewer where the next would probably exceed the budget, but at least one. With
    `warm_up` a first round is not counted. A contestant that fails takes no further part, and what it had done is not
    counted.
    """
    measure = measure or _once
    found = Rounds({contestant.name: [] for contestant in contestants})
    began = clock()
    for number in range(repeat + warm_up):
        started = clock()
        is_counted = number >= warm_up
        for contestant in contestants if number % 2 == 0 else reversed(contestants):
            if contestant.name in found.failures:
                continue
            try:
                sample = measure(contestant)
            except CommandError as error:
                found.failures[contestant.name] = str(error)
                del found.samples[contestant.name]
                continue
            if is_counted:
                found.samples[contestant.name].append(sample)
        now = clock()
        if is_counted and now - began + (now - started) > budget_s:
            break
    return found


def _once(contestant: Contestant) -> Sample:
    contestant.prepare()
    return measured(contestant.command, is_step=contestant.is_step, limit_s=contestant.limit_s)
