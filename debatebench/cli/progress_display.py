"""The progress of a run: a live table on a terminal, plain lines elsewhere, and a file for scripts."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

from debatebench.cli.common import note, now
from debatebench.play.progress import Pace, Progress, write_progress
from debatebench.shared.amounts import amount_text, counted, duration_text
from debatebench.shared.errors import DebatebenchError, InterruptedRunError

if TYPE_CHECKING:
    from rich.console import RenderableType


_LINES_PER_RUN = 10
_LINE_EVERY_S = 60.0
_MOST_SILENT = 5
_FILE_EVERY_S = 1.0


@contextmanager
def watching(run_tag: str, progress: Progress, path: Path) -> Iterator[None]:
    """Show `progress` on stderr, and keep it in the file at `path`, while the block runs."""
    progress.on_stop = _say_how_to_leave
    progress.on_unreachable = _say_that_it_waits
    progress.on_reached = _say_that_it_goes_on
    if sys.stderr.isatty():
        with _kept(run_tag, progress, path), _live(run_tag, progress):
            yield
        return
    lines = Lines(run_tag)
    progress.on_debate = lines.debate_ended
    with _kept(run_tag, progress, path, each_second=lines.second_passed):
        yield


def _say_how_to_leave(progress: Progress) -> None:
    note(
        f"Stopping: waiting for {counted(progress.calls_in_flight, 'request')} in flight. "
        "Interrupt again to exit at once."
    )


def _say_that_it_waits(reason: str, longest_s: float) -> None:
    note(f"{reason} Waiting for it, up to {duration_text(longest_s)} (--wait-for-provider).")


def _say_that_it_goes_on(provider: str) -> None:
    note(f"{provider} can be reached again; the run goes on.")


def describe(progress: Progress) -> str:
    """The counters in one line: debates, answers and money of the whole run, then those of this session."""
    simulated = " simulated" if progress.is_simulated else ""
    session = [counted(progress.calls_answered, "answer"), f"${amount_text(progress.cost)}"]
    if progress.calls_failed:
        session.append(counted(progress.calls_failed, "failed attempt"))
    if progress.unpriced_calls:
        session.append(f"{counted(progress.unpriced_calls, 'answer')} without a price")
    whole = [f"{progress.debates_done:,} of {counted(progress.debates_planned, 'debate')}"]
    if progress.debates_incomplete:
        whole.append(f"{progress.debates_incomplete:,} of them incomplete")
    whole += [counted(progress.ledger.answered, "answer"), f"${amount_text(progress.ledger.total.known)}{simulated}"]
    at_once = [f"{progress.calls_in_flight:,} in flight", *filter(None, [unreachable(progress), silent(progress)])]
    return f"{', '.join(whole)} in all; {', '.join(session)} in this session; {', '.join(at_once)}"


def unreachable(progress: Progress) -> str:
    """Which providers the run waits for; empty if it waits for none."""
    names = sorted(progress.unreachable.copy())
    return f"waiting for {', '.join(names)}, which cannot be reached" if names else ""


def silent(progress: Progress) -> str:
    """Which debaters and judges send nothing, and for how long; empty if there are none."""
    found = progress.silent()
    shown = [f"{member_id} silent for {duration_text(seconds)}" for member_id, seconds in found[:_MOST_SILENT]]
    return ", ".join([*shown, *([f"{len(found) - len(shown):,} more silent"] if len(found) > len(shown) else [])])


def table_rows(progress: Progress, calls_per_s: float | None) -> list[tuple[str, str]]:
    """The rows of the live table: names and values."""
    rate = "" if calls_per_s is None else f", {calls_per_s:,.1f} per second"
    answers = f"{progress.ledger.answered:,} ({progress.calls_answered:,} in this session{rate})"
    rows = [
        ("debates", f"{progress.debates_done:,} of {progress.debates_planned:,}"),
        ("answers", f"{answers}, {counted(progress.calls_in_flight, 'request')} in flight"),
        ("simulated cost" if progress.is_simulated else "cost", _cost(progress)),
        ("left", _duration(progress.calls_left / calls_per_s) if calls_per_s else "unknown"),
    ]
    trouble = [
        (progress.calls_failed, "failed attempts in this session"),
        (progress.rate_limited, "of them rate-limited (429)"),
        (progress.calls_waiting, "waiting to be retried"),
        (progress.debates_incomplete, "debates incomplete"),
    ]
    if said := ", ".join(f"{count:,} {what}" for count, what in trouble if count):
        rows.append(("trouble", said))
    rows += [("", waits) for waits in (unreachable(progress), silent(progress)) if waits]
    return rows


def _cost(progress: Progress) -> str:
    """What the run has cost, what of it in this session, and what it may cost yet."""
    spent = progress.ledger.total
    cost = f"${amount_text(spent.known)} (${amount_text(progress.cost)} in this session)"
    if spent.unknown:
        cost += f" and {counted(spent.unknown, 'attempt')} of unknown cost"
    if progress.projected_cost is not None:
        cost += f", about ${amount_text(progress.projected_cost)} projected"
    if progress.ledger.limit is not None:
        cost += f", at most ${progress.ledger.limit:,}"
    return cost


def _duration(seconds: float) -> str:
    """A duration for people, in its two largest units."""
    minutes, secs = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    if hours:
        return f"{hours} h {minutes} min"
    return f"{minutes} min {secs} s" if minutes else f"{secs} s"


class Lines:
    """Prints a line after every tenth of the run, and after every minute without one."""

    def __init__(
        self, run_tag: str, every_s: float = _LINE_EVERY_S, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._run_tag = run_tag
        self._every_s = every_s
        self._clock = clock
        self._tenth = -1
        self._printed_s = clock()
        # Debates end in one thread, and seconds pass in another.
        self._lock = threading.Lock()

    def debate_ended(self, progress: Progress) -> None:
        """Print a line if another tenth of the debates is done."""
        tenth = progress.debates_done * _LINES_PER_RUN // max(1, progress.debates_planned)
        with self._lock:
            if tenth > self._tenth:
                self._tenth = tenth
                self._print(progress)

    def second_passed(self, progress: Progress) -> None:
        """Print a line if the last one is too old."""
        with self._lock:
            if progress.debates_planned and self._clock() - self._printed_s >= self._every_s:
                self._print(progress)

    def _print(self, progress: Progress) -> None:
        self._printed_s = self._clock()
        note(f"{self._run_tag}: {describe(progress)}")


@contextmanager
def _kept(
    run_tag: str, progress: Progress, path: Path, each_second: Callable[[Progress], None] = lambda _: None
) -> Iterator[None]:
    """Write the counters to a file once a second, in a thread, which also calls `each_second`; the last state stays.

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
            each_second(progress)

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
