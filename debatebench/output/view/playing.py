"""How far runs are: what the processes that play them write once a second, in words."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping
from decimal import Decimal, InvalidOperation
from typing import Any, NamedTuple

from debatebench.shared.amounts import amount_text, counted, duration_text, listed
from debatebench.shared.errors import DebatebenchError
from debatebench.shared.json_bytes import from_json
from debatebench.shared.workspace import Workspace
from debatebench.warehouse.run_list import is_playing

# A playing process writes its file once a second.
_FRESH_S = 3.0
_UNREADABLE = (OSError, ValueError, KeyError, TypeError, AttributeError, InvalidOperation, RecursionError)
_MOST_SILENT = 5
_ENDS = {
    "finished": "Finished",
    "incomplete": "Ended incomplete",
    "interrupted": "Interrupted",
    "stopped": "Stopped",
    "failed": "Failed",
}
KILLED = "Its process ended without a word; `debatebench run` goes on with it."

Facts = list[tuple[str, str]]
"""Names and values, for people."""


class Playing(NamedTuple):
    """A run as its progress file shows it. `words` say its state, with the reason for it."""

    is_playing: bool
    words: str
    done: int
    planned: int
    facts: Facts
    limit: Decimal | None


class ProgressFiles:
    """The progress files of a workspace, read again only after they have changed."""

    def __init__(self, workspace: Workspace, clock: Callable[[], float] = time.time) -> None:
        self._workspace = workspace
        self._clock = clock
        self._left: dict[str, int] = {}

    def read(self) -> dict[str, Playing]:
        """Run tag → how far it is, over its shards here. What cannot be read is left out: the journals say it, too."""
        found: dict[str, list[dict[str, Any]]] = {}
        played: set[str] = set()
        for path in sorted(self._workspace.progress.glob("*.json")):
            try:
                changed_ns = path.stat().st_mtime_ns
                content = from_json(path.read_bytes())
                run_tag = str(content["run_tag"])
                if content["state"] == "playing" and self._is_played(path.stem, run_tag, changed_ns):
                    played.add(run_tag)
                _playing(content, is_playing=False)
                found.setdefault(run_tag, []).append(content)
            except _UNREADABLE:
                continue
        return {tag: _playing(_summed(each), tag in played) for tag, each in found.items()}

    def _is_played(self, name: str, run_tag: str, changed_ns: int) -> bool:
        """Whether a process still plays the run whose file said so at this time.

        The lock of its journal is asked only about an old file, and not again after the answer is no: a run that begins
        in the moment of the question would take it for another one that plays.
        """
        if self._clock() - changed_ns / 1e9 < _FRESH_S:
            return True
        if self._left.get(name) == changed_ns:
            return False
        try:
            is_played = is_playing(self._workspace, run_tag)
        except DebatebenchError:
            return False
        if not is_played:
            self._left[name] = changed_ns
        return is_played


def _summed(files: list[dict[str, Any]]) -> dict[str, Any]:
    """The progress of a run from those of its shards: what counts adds up, and the slowest says how long it takes."""
    if len(files) == 1:
        return files[0]
    first = next((each for each in files if each["state"] == "playing"), files[-1])
    summed = dict(first)
    for group in ("debates", "calls", "cost_usd"):
        summed[group] = {name: _sum(each[group][name] for each in files) for name in first[group]}
    left = [each["eta_s"] for each in files if each["state"] == "playing"]
    summed["eta_s"] = None if None in left else max(left, default=None)
    summed["waiting_for"] = sorted({name for each in files for name in each["waiting_for"]})
    summed["silent_s"] = {name: seconds for each in files for name, seconds in each["silent_s"].items()}
    return summed


def _sum(values: Iterable[Any]) -> Any:
    """The sum of numbers, or of amounts as text; None if none is known, and of a limit if one has none."""
    known = [value for value in values if value is not None]
    if not known:
        return None
    return str(sum(map(Decimal, known))) if isinstance(known[0], str) else sum(known)


def _playing(content: Mapping[str, Any], is_playing: bool) -> Playing:
    debates, cost = content["debates"], content["cost_usd"]
    limit = None if cost["limit"] is None else Decimal(cost["limit"])
    done, planned = int(debates["complete"]) + int(debates["incomplete"]), int(debates["planned"])
    return Playing(is_playing, _words(content, is_playing), done, planned, _facts(content, limit), limit)


def _words(content: Mapping[str, Any], is_playing: bool) -> str:
    if is_playing:
        left = content["eta_s"]
        return "Playing" if left is None else f"Playing, about {duration_text(float(left))} left"
    if content["state"] == "playing":
        return KILLED
    words = _ENDS.get(str(content["state"]), str(content["state"]))
    return f"{words}: {content['reason']}" if content["reason"] else f"{words}."


def _facts(content: Mapping[str, Any], limit: Decimal | None) -> Facts:
    debates, calls = content["debates"], content["calls"]
    done = int(debates["complete"]) + int(debates["incomplete"])
    incomplete = f", {int(debates['incomplete']):,} of them incomplete" if debates["incomplete"] else ""
    facts = [
        ("Debates", f"{done:,} of {int(debates['planned']):,} done{incomplete}"),
        ("Answers", f"{int(calls['answered_in_all']):,}, {int(calls['left']):,} to go"),
        ("Requests in flight", _in_flight(calls)),
        ("Failed attempts", _failures(calls)),
        *_costs(content["cost_usd"], limit),
    ]
    if content["waiting_for"]:
        facts.append(("Cannot be reached", ", ".join(map(str, content["waiting_for"]))))
    silent = [f"{member} for {duration_text(float(s))}" for member, s in content["silent_s"].items()]
    if silent:
        facts.append(("Silent", listed(silent, _MOST_SILENT)))
    return facts


def _in_flight(calls: Mapping[str, Any]) -> str:
    pace = calls["per_second"]
    return f"{int(calls['in_flight']):,}" + ("" if pace is None else f", {float(pace):,.1f} answers per second")


def _failures(calls: Mapping[str, Any]) -> str:
    parts = [(calls["rate_limited"], "rate-limited (429)"), (calls["waiting"], "waiting to be retried")]
    said = ", ".join(f"{int(count):,} {what}" for count, what in parts if count)
    return f"{int(calls['failed']):,} in this session" + (f", {said}" if said else "")


def _costs(cost: Mapping[str, Any], limit: Decimal | None) -> Facts:
    """What the run has cost of what it may cost, and what it is projected to cost."""
    spent = [Decimal(cost[kind]) for kind in ("billed", "estimated", "simulated")]
    facts = [("Cost", cost_text(sum(spent, Decimal()), limit, is_simulated=bool(spent[2])))]
    if cost["unknown_attempts"]:
        unknown = counted(int(cost["unknown_attempts"]), "attempt")
        facts.append(("Cost unknown", f"of {unknown}, at most ${amount_text(Decimal(cost['possible']))}"))
    if cost["projected"] is not None:
        facts.append(("Cost projected", f"${amount_text(Decimal(cost['projected']))}"))
    return facts


def cost_text(spent: Decimal, limit: Decimal | None, *, is_simulated: bool) -> str:
    """What was spent, and how much of the limit that is."""
    words = f"${amount_text(spent)}" + (" simulated" if is_simulated else "")
    if limit is None:
        return f"{words}, no limit"
    share = f" ({spent / limit:.0%})" if limit else ""
    return f"{words} of at most ${limit.normalize():,f}{share}"
