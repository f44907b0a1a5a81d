"""SIGINT and SIGTERM: the first ends a command in order, the second at once."""

from __future__ import annotations

import os
import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from debatebench.shared.errors import InterruptedRunError

_NUMBERS = (signal.SIGINT, signal.SIGTERM)


@dataclass(slots=True)
class Received:
    """The signals since the command began: those that the thread has read, and those that Python has handled.

    Either number may be ahead of the other for a moment.
    """

    read: int = 0
    handled: int = 0
    forgotten: int = 0
    is_at_prompt: bool = False
    """Whether the command waits for a line. Ctrl-C then only drops the line, however often it is pressed."""

    @property
    def count(self) -> int:
        """How many came."""
        return max(self.read, self.handled) - self.forgotten


# Of the command that runs now.
_current = Received()


@contextmanager
def handled_signals() -> Iterator[Received]:
    """While the block runs, a signal raises `KeyboardInterrupt`, and a second one ends the process with exit code 130.

    Python calls a handler only between two steps of its own, and a step of a library may take minutes. So a thread
    reads the signals from a pipe, which the system fills at once.
    """
    global _current
    received = _current = Received()
    # The process that started this one in the background may have set signals to be ignored on purpose.
    before = {n: handler for n in _NUMBERS if (handler := signal.getsignal(n)) is not signal.SIG_IGN}
    reader, writer = os.pipe()
    os.set_blocking(writer, False)
    previous = signal.set_wakeup_fd(writer, warn_on_full_buffer=False)
    for number in before:
        signal.signal(number, _interrupt)
    threading.Thread(target=_watch, args=(reader, received), name="signals", daemon=True).start()
    try:
        yield received
    finally:
        signal.set_wakeup_fd(previous)
        for number, handler in before.items():
            signal.signal(number, handler)
        os.close(writer)


def forget_signals() -> None:
    """Do not count the signals so far: a SQL session goes on after an interrupted statement."""
    _current.forgotten += _current.count


@contextmanager
def at_prompt() -> Iterator[None]:
    """While the block waits for a line at a terminal, Ctrl-C does not end the process.

    Python's line editor misses one that comes as it begins to wait, and the user presses it again.
    """
    _current.is_at_prompt = True
    try:
        yield
    finally:
        _current.is_at_prompt = False


def _interrupt(number: int, _: object) -> None:
    _current.handled += 1
    if "duckdb" in sys.modules and not hasattr(sys.modules["duckdb"], "connect"):
        # An exception in the middle of this import aborts the process with a page of text.
        os._exit(InterruptedRunError.exit_code)
    raise KeyboardInterrupt


def _watch(reader: int, received: Received) -> None:
    """Count the signals, and leave at the second one; the files of a publication are replaced as a whole or not."""
    with os.fdopen(reader, "rb", buffering=0) as pipe:
        while numbers := pipe.read(64):
            counted = (signal.SIGTERM,) if received.is_at_prompt else _NUMBERS
            received.read += sum(number in counted for number in numbers)
            if received.count > 1:
                os.write(2, b"Interrupted.\n")
                os._exit(InterruptedRunError.exit_code)
