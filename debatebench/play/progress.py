"""The progress of a run: plain counters that the runner updates, and the figures derived from them."""

from __future__ import annotations

import json
import os
import time
from collections import Counter, deque
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

from debatebench.play.budget import Ledger
from debatebench.providers.asking import Step
from debatebench.shared.files import write_atomically
from debatebench.shared.records import Debate

_TOO_MANY_REQUESTS = 429
_SILENT_AFTER_S = 60.0


@dataclass(slots=True)
class Progress:
    """Counters of one session of a run. `cost` sums the known costs; `unpriced_calls` counts answers without a price.

    Debates are those of the whole run, and `ledger` holds its answers and costs. Other threads may read meanwhile.
    """

    is_simulated: bool = False
    """Whether all members of the run are simulated, so that nobody is billed."""
    debates_planned: int = 0
    debates_complete: int = 0
    debates_incomplete: int = 0
    calls_left: int = 0
    """Answers that are still needed if there are no further failures."""
    calls_answered: int = 0
    calls_failed: int = 0
    calls_in_flight: int = 0
    calls_waiting: int = 0
    """Failed attempts that are waiting to be retried."""
    rate_limited: int = 0
    """Attempts that the provider rejected with status 429 (too many requests)."""
    cost: Decimal = field(default_factory=Decimal)
    unpriced_calls: int = 0
    ledger: Ledger = field(default_factory=Ledger)
    missing: tuple[tuple[str, str], ...] = ()
    """(debate_id, reason) of every planned debate that is neither complete nor ended by a refusal; set at the end."""
    forfeits: tuple[tuple[str, str], ...] = ()
    void: tuple[tuple[str, str], ...] = ()
    """(debate_id, reason) of every debate that a refusal ended, which is final; set at the end."""
    given_up: dict[str, tuple[str, str]] = field(default_factory=dict)
    """Debate → the step (`turn:0`) that ended it without a speech, and its debater."""
    advice: dict[str, str] = field(default_factory=dict)
    """Debate that ended incomplete → what helps it."""
    unreachable: dict[str, str] = field(default_factory=dict)
    """Provider → why it cannot be reached; the run waits for it."""
    silent_since: dict[str, float] = field(default_factory=dict)
    """Debater or judge that is being asked → since when, by `clock`, it has sent nothing."""
    late: set[str] = field(default_factory=set)
    """Those of them that gave no whole answer in time, and are being asked again."""
    clock: Callable[[], float] = time.monotonic
    on_debate: Callable[[Progress], None] | None = None
    on_unreachable: Callable[[str, float], None] | None = None
    """Called with the reason and how many seconds the run will wait."""
    on_reached: Callable[[str], None] | None = None
    """Called with the name of a provider that can be reached again."""
    on_stop: Callable[[Progress], None] | None = None
    _asked: Counter[str] = field(default_factory=Counter)
    """Debater or judge → its requests in flight."""
    _calls_of: dict[str, int] = field(default_factory=dict)
    """Debate → answers that it still needs if there are no further failures."""

    @property
    def debates_done(self) -> int:
        """Debates that have ended, complete or not."""
        return self.debates_complete + self.debates_incomplete

    @property
    def projected_cost(self) -> Decimal | None:
        """The projected USD of the whole run at the mean known cost of this session's answers; None before any."""
        priced = self.calls_answered - self.unpriced_calls
        if priced <= 0:
            return None
        return self.ledger.settled.known + self.cost / priced * self.calls_left

    def plan_calls(self, calls: Mapping[str, int]) -> None:
        """Set how many answers each debate that has not ended needs without failures."""
        self._calls_of = dict(calls)
        self.calls_left = sum(calls.values())

    def call_sent(self, member_id: str) -> None:
        """Count a request that was sent."""
        self.calls_in_flight += 1
        self._asked[member_id] += 1
        self.silent_since.setdefault(member_id, self.clock())

    def call_returned(self, member_id: str, *, is_late: bool = False) -> None:
        """Count a request that returned or failed, or whose time is over without a whole answer."""
        self.calls_in_flight -= 1
        self._asked[member_id] -= 1
        if is_late:
            self.late.add(member_id)
        else:
            self._end_silence(member_id)

    def _end_silence(self, member_id: str) -> None:
        self.late.discard(member_id)
        if self._asked[member_id]:
            self.silent_since[member_id] = self.clock()
        else:
            self.silent_since.pop(member_id, None)

    def call_declined(self, http_status: int | None) -> None:
        """Count an attempt that gave no answer."""
        self.rate_limited += http_status == _TOO_MANY_REQUESTS

    def call_settled(self, status: str, cost: Decimal | None) -> None:
        """Count an attempt that was read and journalled."""
        if status == "answered":
            self.calls_answered += 1
        else:
            self.calls_failed += 1
        if cost is not None:
            self.cost += cost
        elif status == "answered":
            self.unpriced_calls += 1

    def call_given_up(self, step: Step, member_id: str) -> None:
        """Record a call that has ended without an answer; a judge is replaced, but a debater's ends its debate."""
        if not self._asked[member_id]:
            self._end_silence(member_id)
        if step.purpose == "turn":
            self.given_up[step.debate_id] = (step.name, member_id)

    def provider_unreachable(self, name: str, reason: str, longest_s: float) -> None:
        """Record that a provider cannot be reached, and that the run waits for it up to `longest_s` seconds."""
        if self.on_unreachable is not None and name not in self.unreachable:
            self.on_unreachable(reason, longest_s)
        self.unreachable[name] = reason

    def provider_reached(self, name: str) -> None:
        """Record that a provider can be reached."""
        if self.unreachable.pop(name, None) is not None and self.on_reached is not None:
            self.on_reached(name)

    def silent(self) -> list[tuple[str, float]]:
        """(debater or judge, seconds) of each that has sent nothing for a minute, or for the time that it has."""
        now, late = self.clock(), self.late.copy()
        silent = ((each, now - since) for each, since in sorted(self.silent_since.copy().items()))
        return [(each, seconds) for each, seconds in silent if seconds >= _SILENT_AFTER_S or each in late]

    def answer_used(self, debate_id: str) -> None:
        """Count an answer that a debate has received, new or from the journal."""
        if self._calls_of.get(debate_id, 0) > 0:
            self._calls_of[debate_id] -= 1
            self.calls_left -= 1

    def debate_ended(self, debate: Debate) -> None:
        """Count a debate that was played and judged, or given up."""
        self.calls_left -= self._calls_of.pop(debate.debate_id, 0)
        if debate.status == "complete":
            self.debates_complete += 1
        else:
            self.debates_incomplete += 1
        if self.on_debate is not None:
            self.on_debate(self)

    def run_stops(self) -> None:
        """Record that the user stops the run: no more requests are sent, and those in flight are awaited."""
        if self.on_stop is not None:
            self.on_stop(self)


class Pace:
    """The rate of answers over the last `window_s` seconds, and the remaining time at that rate."""

    def __init__(self, window_s: float = 30.0) -> None:
        self._window_s = window_s
        self._seen: deque[tuple[float, int]] = deque()

    def see(self, at_s: float, answers: int) -> float | None:
        """Add a count at a time on a monotonic clock; returns answers per second, None before there are two counts."""
        self._seen.append((at_s, answers))
        while len(self._seen) > 2 and self._seen[1][0] <= at_s - self._window_s:
            self._seen.popleft()
        before_s, before = self._seen[0]
        return (answers - before) / (at_s - before_s) if at_s > before_s else None


def write_progress(
    path: Path,
    run_tag: str,
    progress: Progress,
    *,
    state: str,
    now: datetime,
    calls_per_s: float | None = None,
    reason: str | None = None,
) -> None:
    """Write the progress of a run as JSON, for scripts; a reader sees either the whole old state or the whole new one.

    `state` is `playing`, `finished`, `incomplete`, `interrupted`, `stopped` or `failed`. A process that was killed
    leaves `playing` and the number of a process (`pid`) that no longer exists. Unknown figures are null. The file is
    not synced to disk, because it can be lost without harm.
    """
    spent = progress.ledger.total
    projected = progress.projected_cost
    content = {
        "run_tag": run_tag,
        "state": state,
        "reason": reason,
        "pid": os.getpid(),
        "updated_at": now.isoformat(),
        "debates": {
            "planned": progress.debates_planned,
            "complete": progress.debates_complete,
            "incomplete": progress.debates_incomplete,
        },
        "calls": {
            "answered": progress.calls_answered,
            "answered_in_all": progress.ledger.answered,
            "failed": progress.calls_failed,
            "in_flight": progress.calls_in_flight,
            "waiting": progress.calls_waiting,
            "rate_limited": progress.rate_limited,
            "left": progress.calls_left,
            "per_second": calls_per_s,
        },
        "cost_usd": {
            "billed": str(spent.billed),
            "estimated": str(spent.estimated),
            "simulated": str(spent.simulated),
            "unknown_attempts": spent.unknown,
            "possible": str(spent.possible),
            "unbounded_attempts": spent.unbounded,
            "projected": None if projected is None else f"{projected:.10f}",
            "limit": None if progress.ledger.limit is None else str(progress.ledger.limit),
        },
        "waiting_for": sorted(progress.unreachable.copy()),
        "silent_s": {member_id: round(seconds) for member_id, seconds in progress.silent()},
        "eta_s": progress.calls_left / calls_per_s if calls_per_s else None,
        "forfeits": _with_reasons(progress.forfeits),
        "void": _with_reasons(progress.void),
        "missing": _with_reasons(progress.missing),
    }
    write_atomically(path, json.dumps(content, indent=1) + "\n", is_durable=False)


def _with_reasons(debates: Iterable[tuple[str, str]]) -> list[dict[str, Any]]:
    return [{"debate_id": debate_id, "reason": reason} for debate_id, reason in debates]
