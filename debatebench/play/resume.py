"""The state of a run according to its journal: the frozen plan, every attempt at a call, and every stored outcome."""

from __future__ import annotations

import json
import zlib
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from debatebench.config.types import MemberConfig
from debatebench.journal.lines import Event
from debatebench.plan.plan import Role
from debatebench.play.bans import Bans
from debatebench.play.budget import Ledger, money, settle_rows
from debatebench.providers import is_simulated
from debatebench.providers.base import FailureKind

_KIND = {
    "unsent": FailureKind.UNSENT,
    "retried": FailureKind.RETRY,
    "ambiguous": FailureKind.AMBIGUOUS,
    "empty": FailureKind.EMPTY,
    "failed": FailureKind.FAILED,
    "refused": FailureKind.REFUSED,
    "oversize": FailureKind.OVERSIZE,
    "stopped": FailureKind.STOP,
}


@dataclass(slots=True)
class PastAttempt:
    """An attempt recorded in the journal. `response` is the position of its reply in the file, if there is one."""

    sent_at: datetime
    response: tuple[int, int] | None = None
    status: str | None = None
    error: str = "the process ended before an answer was kept"
    adjusted: frozenset[str] = frozenset()
    """Optional fields for which the request was adjusted, because the server refuses them."""

    @property
    def is_settled(self) -> bool:
        """Whether the journal holds the attempt's outcome."""
        return self.status is not None

    @property
    def was_cut_short(self) -> bool:
        """Whether the process died while the attempt was in flight: it may have been billed, which is unknown."""
        return self.response is None and self.status is None

    @property
    def kind(self) -> FailureKind:
        """Why it gave no answer; an attempt that was cut short is ambiguous."""
        return _KIND.get(self.status or "ambiguous", FailureKind.AMBIGUOUS)


@dataclass(slots=True)
class Resume:
    """The state of a run according to its journal. Pass every event in order to `see`.

    Only the id of a complete debate is kept, because the debate is not played again.
    """

    header: dict[str, Any] | None = None
    parts: list[dict[str, Any]] = field(default_factory=list)
    """Parts that were added to the plan after the run had begun, in order."""
    bans: Bans = field(default_factory=Bans)
    complete_debates: set[str] = field(default_factory=set)
    reopened: set[str] = field(default_factory=set)
    """Debates that were complete until a judge's answer was read again; `see_reopened` brings back their attempts."""
    again: Counter[str] = field(default_factory=Counter)
    """How many more times the judges of a debate's empty seats are asked."""
    cut_short: int = 0
    """How many attempts were in flight when a process died."""
    ledger: Ledger = field(default_factory=Ledger)
    """The costs of the run so far."""
    adjusted: dict[tuple[str, str], frozenset[str]] = field(default_factory=dict)
    """(provider, model) → optional fields that it refuses, as far as the run has found out."""
    answered_by: set[tuple[Role, str]] = field(default_factory=set)
    """Every debater and judge that has answered, by role and id."""
    answered: set[tuple[str, str]] = field(default_factory=set)
    """(provider, model) of every model that has answered."""
    _attempts: dict[str, dict[int, PastAttempt]] = field(default_factory=dict)
    _calls_of: dict[str, list[str]] = field(default_factory=dict)
    _kept: dict[str, int] = field(default_factory=dict)
    _reopened_calls: set[str] = field(default_factory=set)

    def see(self, event: Event) -> None:
        """Process one event."""
        data = event.data
        kind = data["type"]
        if kind == "header":
            self.header = data
        elif kind == "part":
            self.parts.append(data["part"])
        elif kind == "ban":
            self.bans.ban(data["model_id"], data["reason"])
        elif kind == "ban_lifted":
            self.bans.lift(data["model_id"])
        elif kind == "again":
            self.again[data["debate_id"]] += 1
        elif kind == "intent":
            self._see_intent(data)
        elif kind == "response":
            self._attempts[data["call_id"]][data["attempt"]].response = (event.offset, event.length)
            self.cut_short -= 1
        elif kind == "outcome":
            self._see_outcome(data)

    def _see_intent(self, data: dict[str, Any]) -> None:
        call_id = data["call_id"]
        if call_id not in self._attempts:
            self._attempts[call_id] = {}
            self._calls_of.setdefault(data["debate_id"], []).append(call_id)
        past = self._attempts[call_id][data["attempt"]] = _sent(data)
        self.adjust(data["provider"], data["model"], past.adjusted)
        self.ledger.seen((call_id, data["attempt"]), money(data.get("possible_cost")))
        self.cut_short += 1

    def _see_outcome(self, data: dict[str, Any]) -> None:
        if data.get("of") == "prices":
            self.ledger.mend(data.get("before", ()), data["records"].get("calls", ()))
            return
        settle_rows(self.ledger, data["records"].get("calls", ()))
        for row in data["records"].get("calls", ()):
            past = self._attempts[row["call_id"]][row["attempt"]]
            self.cut_short -= past.was_cut_short
            past.status, past.error = row["status"], row.get("error", "")
            if past.status == "answered":
                self.answered.add((row["provider"], row["model_name"]))
                judge_id = row.get("judge_id")
                self.answered_by.add(("debater", row["model_id"]) if judge_id is None else ("judge", judge_id))
        debaters = [row["model_id"] for row in data["records"].get("participants", ())]
        for row in data["records"].get("debates", ()):
            debate_id = row["debate_id"]
            is_complete = row.get("status", "complete") == "complete"
            if data.get("by") != "reparse":
                self.bans.debate_ended(debaters, is_complete=is_complete, silent=data.get("silent"))
            if not is_complete:
                if debate_id in self.complete_debates:
                    self.complete_debates.discard(debate_id)
                    self.reopened.add(debate_id)
                self._kept[debate_id] = _checksum(data["records"])
                continue
            self.complete_debates.add(debate_id)
            self.reopened.discard(debate_id)
            for call_id in self._calls_of.pop(debate_id, ()):
                del self._attempts[call_id]

    def see_reopened(self, event: Event) -> None:
        """Process an event again: attempts of complete debates were dropped, and some are needed after all."""
        data = event.data
        kind = data["type"]
        if kind == "intent" and data["debate_id"] in self.reopened:
            self._attempts.setdefault(data["call_id"], {})[data["attempt"]] = _sent(data)
            self._reopened_calls.add(data["call_id"])
        elif kind == "response" and data["call_id"] in self._reopened_calls:
            self._attempts[data["call_id"]][data["attempt"]].response = (event.offset, event.length)
        elif kind == "outcome" and data.get("of") == "call":
            for row in data["records"]["calls"]:
                if row["call_id"] in self._reopened_calls:
                    past = self._attempts[row["call_id"]][row["attempt"]]
                    past.status, past.error = row["status"], row.get("error", "")

    def adjust(self, provider: str, model: str, fields: Iterable[str]) -> None:
        """Record that a model refuses these optional fields."""
        if fields:
            self.adjusted[provider, model] = self.adjusted_for(provider, model).union(fields)

    def adjusted_for(self, provider: str, model: str) -> frozenset[str]:
        """The optional fields that a model is known to refuse."""
        return self.adjusted.get((provider, model), frozenset())

    def is_new(self, member: MemberConfig) -> bool:
        """Whether the model of a hosted debater or judge has not answered in this run yet."""
        return not is_simulated(member.provider) and (member.provider, member.model) not in self.answered

    def has_answer(self, call_id: str) -> bool:
        """Whether the journal holds an answer to a call."""
        return any(past.status == "answered" for past in self.attempts(call_id).values())

    def attempts(self, call_id: str) -> dict[int, PastAttempt]:
        """The earlier attempts at a call, by number from 1."""
        return self._attempts.get(call_id, {})

    def has_begun(self, debate_id: str) -> bool:
        """Whether an earlier session has asked anything for a debate that is not complete."""
        return debate_id in self._calls_of or debate_id in self.reopened

    def has_ended(self, debate_id: str) -> bool:
        """Whether the journal holds an outcome of a debate that is not complete."""
        return debate_id in self._kept

    def is_kept(self, debate_id: str, records: dict[str, Any]) -> bool:
        """Whether the journal already holds exactly this outcome of a debate; a replay would write it again."""
        return debate_id in self._kept and self._kept[debate_id] == _checksum(records)


def _sent(intent: dict[str, Any]) -> PastAttempt:
    return PastAttempt(datetime.fromisoformat(intent["sent_at"]), adjusted=frozenset(intent.get("adjusted", ())))


def _checksum(records: dict[str, Any]) -> int:
    return zlib.crc32(json.dumps(records, sort_keys=True).encode("ascii"))
