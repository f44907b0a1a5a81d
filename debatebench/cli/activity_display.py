"""One line on a terminal that says what a long command is doing; it appears late and vanishes at the end."""

from __future__ import annotations

import shutil
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress

from debatebench.shared.activity import Step, shown_by
from debatebench.shared.visible_text import visible

_AFTER_S = 2.0
_EVERY_S = 0.2
_CLEAR = "\r\x1b[2K"


@contextmanager
def shown_activity(after_s: float = _AFTER_S) -> Iterator[None]:
    """Show the steps of the block on stderr if it is a terminal and they take longer than `after_s` seconds."""
    if not sys.stderr.isatty():
        yield
        return
    global _line
    line = _line = _Line(after_s)
    try:
        with shown_by(line.begin):
            yield
    finally:
        _line = None
        line.close()


def make_room() -> None:
    """Take the line off the terminal, before other text is printed. It appears again with its next change."""
    if _line is not None:
        _line.clear()


class _Line:
    """The line, which a thread draws once the first step is old enough."""

    def __init__(self, after_s: float) -> None:
        self._after_s = after_s
        self._step = Step("")
        self._drawn = ""
        self._ended = threading.Event()
        self._lock = threading.Lock()
        self._thread: threading.Thread | None = None

    def begin(self, step: Step) -> None:
        self._step = step
        if self._thread is None:
            self._thread = threading.Thread(target=self._draw_often, name="activity", daemon=True)
            self._thread.start()

    def clear(self) -> None:
        with self._lock:
            if self._drawn:
                self._write(_CLEAR)
                self._drawn = ""

    def close(self) -> None:
        self._ended.set()
        if self._thread is not None:
            self._thread.join()
        self.clear()

    def _draw_often(self) -> None:
        wait_s = self._after_s
        while not self._ended.wait(wait_s):
            wait_s = _EVERY_S
            text = line_text(self._step, shutil.get_terminal_size().columns)
            with self._lock:
                if text != self._drawn:
                    self._write(_CLEAR + text)
                    self._drawn = text

    @staticmethod
    def _write(text: str) -> None:
        with suppress(OSError):
            sys.stderr.write(text)
            sys.stderr.flush()


_line: _Line | None = None


def line_text(step: Step, width: int) -> str:
    """The step in less than `width` characters: a longer line would leave its beginning on the terminal."""
    done = f": {step.done:,}" if step.done else ""
    if step.total is not None:
        done = f": {step.done:,} of {step.total:,}"
    what = visible(step.what)
    end = f"{done} …"
    return f"{what[: max(0, width - 1 - len(end))]}{end}"[: max(0, width - 1)]
