"""The progress of a run: a live table on a terminal, plain lines elsewhere, and a file for scripts."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

from debatebench.cli.common import note, now
from debatebench.plan.time_estimate import spoken
from debatebench.play.progress import Pace, write_progress
from debatebench.shared.errors import DebatebenchError, InterruptedRunError

if TYPE_CHECKING:
    from rich.console import RenderableType

    from debatebench.play.progress import Progress

__all__ = ["watching"]

_LINES_PER_RUN = 10
_FILE_EVERY_S = 1.0


@contextmanager
def watching(run_tag: str, progress: Progress, path: Path) -> Iterator[None]:
    """Show `progress` on stderr, and keep it in the file at `path`, while the block runs."""
    progress.on_stop = _say_how_to_leave
    progress.on_unreachable = _say_that_it_waits
    with _kept(run_tag, progress, path):
        if sys.stderr.isatty():
            with _live(run_tag, progress):
                yield
        else:
            progress.on_debate = _Lines(run_tag)
            yield


def _say_how_to_leave(progress: Progress) -> None:
    note(f"Stopping: waiting for {progress.calls_in_flight:,} requests in flight. Interrupt again to exit at once.")


def _say_that_it_waits(reason: str, longest_s: float) -> None:
    note(f"{reason} Waiting for it, up to {spoken(longest_s)} (--wait-for-provider).")


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


def table_rows(progress: Progress, calls_per_s: float | None) -> list[tuple[str, str]]:
    """The rows of the live table: names and values."""
    spent = progress.ledger.total
    cost = f"${spent.known:,.4f}"
    if spent.unknown:
        cost += f" and {spent.unknown:,} attempts of unknown cost"
    if progress.projected_cost is not None:
        cost += f", about ${progress.projected_cost:,.4f} projected"
    if progress.ledger.limit is not None:
        cost += f", at most ${progress.ledger.limit:,}"
    rate = "" if calls_per_s is None else f", {calls_per_s:,.1f} per second"
    rows = [
        ("debates", f"{progress.debates_done:,} of {progress.debates_planned:,}"),
        ("calls", f"{progress.calls_answered:,} answered{rate}, {progress.calls_in_flight:,} in flight"),
        ("cost", cost),
        ("left", _duration(progress.calls_left / calls_per_s) if calls_per_s else "unknown"),
    ]
    trouble = [
        (progress.calls_failed, "failed attempts"),
        (progress.rate_limited, "of them rate-limited (429)"),
        (progress.calls_waiting, "waiting to be retried"),
        (progress.debates_incomplete, "debates incomplete"),
    ]
    if said := ", ".join(f"{count:,} {what}" for count, what in trouble if count):
        rows.append(("trouble", said))
    return rows


def _duration(seconds: float) -> str:
    """A duration for people, in its two largest units."""
    minutes, secs = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    if hours:
        return f"{hours} h {minutes} min"
    return f"{minutes} min {secs} s" if minutes else f"{secs} s"


class _Lines:
    """Prints a line after every tenth of the run."""

    def __init__(self, run_tag: str) -> None:
        self._run_tag = run_tag
        self._printed = -1

    def __call__(self, progress: Progress) -> None:
        tenth = progress.debates_done * _LINES_PER_RUN // max(1, progress.debates_planned)
        if tenth > self._printed:
            self._printed = tenth
            note(f"{self._run_tag}: {describe(progress)}")


@contextmanager
def _kept(run_tag: str, progress: Progress, path: Path) -> Iterator[None]:
    """Write the counters to a file once a second, in a thread; the last state stays there.

    The run does not depend on the file: if it cannot be written, the run continues without it.
    """
    left, pace = threading.Event(), Pace()

    def write(state: str, reason: str | None = None) -> None:
        if not progress.debates_planned:
            # The run has not begun: another process may be playing it, and then the file belongs to that process.
            return
        calls_per_s = pace.see(time.monotonic(), progress.calls_answered)
        with suppress(OSError):
            write_progress(path, run_tag, progress, state=state, now=now(), calls_per_s=calls_per_s, reason=reason)

    def keep_writing() -> None:
        write("playing")
        while not left.wait(_FILE_EVERY_S):
            write("playing")

    writer = threading.Thread(target=keep_writing, name="progress-file", daemon=True)
    writer.start()
    state, reason = "failed", None
    try:
        yield
        state = "finished" if progress.debates_complete == progress.debates_planned else "incomplete"
    except InterruptedRunError as error:
        state, reason = "interrupted", str(error)
        raise
    except DebatebenchError as error:
        state, reason = "stopped", str(error)
        raise
    finally:
        left.set()
        writer.join()
        write(state, reason)


@contextmanager
def _live(run_tag: str, progress: Progress) -> Iterator[None]:
    """Show a table of the counters, which a thread redraws four times a second."""
    from rich.console import Console
    from rich.live import Live

    pace = Pace()

    def render() -> RenderableType:
        from rich.progress_bar import ProgressBar
        from rich.table import Table
        from rich.text import Text

        table = Table.grid(padding=(0, 1))
        bar = ProgressBar(total=max(1, progress.debates_planned), completed=progress.debates_done, width=16)
        table.add_row(Text(run_tag, style="bold"), bar)
        for name, value in table_rows(progress, pace.see(time.monotonic(), progress.calls_answered)):
            table.add_row(Text(name), Text(value))
        return table

    def stop(progress: Progress) -> None:
        # If the process exits at once, the terminal is restored first.
        live.stop()
        _say_how_to_leave(progress)

    progress.on_stop = stop
    with Live(get_renderable=render, console=Console(stderr=True), refresh_per_second=4) as live:
        yield
