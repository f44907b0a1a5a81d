"""How far a run is, shown to whoever started it: a live line on a terminal, plain lines elsewhere."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from debatebench.cli.common import note

if TYPE_CHECKING:
    from rich.console import RenderableType

    from debatebench.progress import Progress

__all__ = ["watching"]

_LINES_PER_RUN = 10


@contextmanager
def watching(run_tag: str, progress: Progress) -> Iterator[None]:
    """Show `progress` on stderr while the block runs."""
    progress.on_stop = _say_how_to_leave
    if sys.stderr.isatty():
        with _live(run_tag, progress):
            yield
    else:
        progress.on_debate = _Lines(run_tag)
        yield


def _say_how_to_leave(progress: Progress) -> None:
    note(f"Stopping: awaiting {progress.calls_in_flight:,} requests in flight. Interrupt again to leave at once.")


def describe(progress: Progress) -> str:
    """The counters in one line."""
    parts = [
        f"{progress.debates_done:,} of {progress.debates_planned:,} debates",
        f"{progress.calls_answered:,} answers",
        f"{progress.calls_in_flight:,} in flight",
        f"${progress.cost:,.4f}",
    ]
    if progress.calls_failed:
        parts.append(f"{progress.calls_failed:,} failed attempts")
    if progress.debates_incomplete:
        parts.append(f"{progress.debates_incomplete:,} incomplete")
    if progress.unpriced_calls:
        parts.append(f"{progress.unpriced_calls:,} answers without a price")
    return ", ".join(parts)


class _Lines:
    """Prints a line whenever another tenth of the run is done."""

    def __init__(self, run_tag: str) -> None:
        self._run_tag = run_tag
        self._printed = -1

    def __call__(self, progress: Progress) -> None:
        tenth = progress.debates_done * _LINES_PER_RUN // max(1, progress.debates_planned)
        if tenth > self._printed:
            self._printed = tenth
            note(f"{self._run_tag}: {describe(progress)}")


@contextmanager
def _live(run_tag: str, progress: Progress) -> Iterator[None]:
    """A bar that a thread redraws four times a second from the counters."""
    from rich.console import Console
    from rich.live import Live

    def render() -> RenderableType:
        from rich.progress_bar import ProgressBar
        from rich.table import Table
        from rich.text import Text

        line = Table.grid(padding=(0, 1))
        bar = ProgressBar(total=max(1, progress.debates_planned), completed=progress.debates_done, width=16)
        line.add_row(Text(run_tag, style="bold"), bar, Text(describe(progress)))
        return line

    def stop(progress: Progress) -> None:
        # Whoever leaves at once gets the terminal back as it was.
        live.stop()
        _say_how_to_leave(progress)

    progress.on_stop = stop
    with Live(get_renderable=render, console=Console(stderr=True), refresh_per_second=4) as live:
        yield
