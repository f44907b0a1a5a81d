"""Which calls of a run are left, according to its journal, and what the answered ones used."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from debatebench.journal.lines import Event
from debatebench.judges import recorded_method
from debatebench.plan.judge_calls import RestOfDebate
from debatebench.plan.plan import Plan
from debatebench.plan.stored_use import StoredUse
from debatebench.play.pacing import TOO_BUSY
from debatebench.play.resume import Resume
from debatebench.shared.advice import Vote, advice, empty_seats
from debatebench.shared.records import ScheduledDebate

_ANSWERED = "answered"
_FIRST_ERROR_STATUS = 400
# Another session asks these again, also without --retry-failed.
_FOR_NOW = {"unsent", "stopped"}


@dataclass(slots=True)
class _Seen:
    """What the journal says of a debate that is not complete."""

    steps: dict[str, str] = field(default_factory=dict)
    """Step → status of its last attempt; `busy` for a provider that was only too busy."""
    has_ended: bool = False
    is_silent: bool = False
    """Whether it ended because a debater gave no speech."""
    is_refused: bool = False
    """Whether a debater refused to speak, which is final."""
    votes: tuple[Vote, ...] = ()
    """Those of its judges when it ended."""
    turns: int = 0
    """How many speeches it had when it ended."""
    reason: str | None = None
    """Why it ended incomplete."""
    step_of: dict[str, str] = field(default_factory=dict)
    """Call → its step, of the answers of judges."""
    useless: set[str] = field(default_factory=set)
    """Paths of steps (`verdict:j3:clarity:winner`) whose answers were all of no use when it ended."""

    @property
    def is_for_now(self) -> bool:
        """Whether it ended only because a provider was not available."""
        return any(map(_is_for_now, self.steps.values()))

    def is_for_now_of(self, judge_id: str) -> bool:
        """Whether the judge was not asked yet, or has no vote only because its provider was not available."""
        asked = [status for step, status in self.steps.items() if step.startswith(f"verdict:{judge_id}:")]
        return not asked or any(map(_is_for_now, asked))

    def turns_done(self) -> int:
        """How many turns have an answer, counted from the first."""
        done = 0
        while any(
            status == _ANSWERED and (step == f"turn:{done}" or step.startswith(f"turn:{done}:"))
            for step, status in self.steps.items()
        ):
            done += 1
        return done

    def answered(self) -> frozenset[str]:
        """The judges' steps that are answered."""
        return frozenset(
            step
            for step, status in self.steps.items()
            if status == _ANSWERED and step.startswith("verdict:") and step.rpartition(":")[0] not in self.useless
        )

    def end(self, verdicts: Sequence[dict[str, Any]]) -> None:
        """Record who has voted, and at which steps the others have failed."""
        self.votes = tuple(
            Vote(v["panel_position"], v["judge_id"], None if v.get("is_valid") else v.get("invalid_reason") or "")
            for v in verdicts
        )
        failed = (self.step_of.get(v.get("call_id", "")) for v in verdicts if not v.get("is_valid"))
        self.useless = {step.rpartition(":")[0] for step in failed if step is not None}


class Remaining:
    """Passes every event on to `resume` and counts what it needs itself. Nothing is kept of a complete debate."""

    def __init__(self, resume: Resume, *, retry_failed: bool) -> None:
        self._resume = resume
        self.retry_failed = retry_failed
        self._seen: defaultdict[str, _Seen] = defaultdict(_Seen)
        self._open: dict[str, tuple[str, str]] = {}
        self._models: dict[tuple[str, str], tuple[str, str, str]] = {}
        self._lengths: dict[str, int] = {}
        self.stored = StoredUse()
        """What the answers in the debates that have ended used."""

    def see(self, event: Event) -> None:
        """Process one event."""
        self._resume.see(event)
        data = event.data
        if data["type"] == "header":
            self._add_models(data["plan"])
            for debate in (data["plan"].get("source") or {}).get("debates", ()):
                self._lengths[debate["debate_id"]] = sum(speech["characters"] for speech in debate["speeches"])
            for debate_id, copy in (data["plan"].get("copies") or {}).items():
                self._lengths[debate_id] = sum(speech["characters"] for speech in copy["speeches"])
        elif data["type"] == "part":
            self._add_models(data["part"])
        elif data["type"] == "intent":
            self._open[data["call_id"]] = (data["debate_id"], data["step"])
        elif data["type"] == "response" and data["status"] < _FIRST_ERROR_STATUS:
            # If its process died before it was read, the next session reads it.
            debate_id, step = self._open[data["call_id"]]
            self._seen[debate_id].steps[step] = _ANSWERED
        elif data["type"] == "outcome":
            self._see_outcome(data, data["records"])

    def _add_models(self, plan: dict[str, Any]) -> None:
        for role, name in (("debater", "debaters"), ("judge", "judges")):
            for member in plan.get(name, ()):
                method = recorded_method(member.get("method", "direct"))
                self._models[role, member["id"]] = (member["provider"], member["model"], method)

    def _see_outcome(self, data: dict[str, Any], records: dict[str, Any]) -> None:
        if data.get("of") == "prices":
            return
        for row in records.get("calls", ()):
            self._open.pop(row["call_id"], None)
            status = "busy" if row["status"] == "retried" and row.get("http_status") in TOO_BUSY else row["status"]
            seen = self._seen[row["debate_id"]]
            seen.steps[row["step"]] = status
            if status == _ANSWERED and row["step"].startswith("verdict:"):
                seen.step_of[row["call_id"]] = row["step"]
        for row in records.get("debates", ()):
            debate_id = row["debate_id"]
            if not self._seen[debate_id].has_ended and data.get("by") != "reparse":
                # An attacked copy has a length of its own.
                said = self._lengths.get(row["debate_id"], self._lengths.get(row.get("source_debate_id"), 0))
                self.stored.add_debate(records.get("turns", ()), records.get("verdicts", ()), self._models, said)
            if debate_id in self._resume.complete_debates:
                self._seen.pop(debate_id, None)
                continue
            seen = self._seen[debate_id]
            seen.has_ended, seen.is_silent = True, data.get("silent") is not None
            seen.is_refused = row.get("status") in ("void", "forfeit")
            seen.turns, seen.reason = len(records.get("turns", ())), row.get("status_reason")
            seen.end(records.get("verdicts", ()))

    def advice(self, debate: ScheduledDebate, plan: Plan) -> str | None:
        """What helps a debate that ended incomplete and that what is left of it cannot complete; None for any other."""
        seen = self._seen.get(debate.debate_id)
        if seen is None or not seen.has_ended or seen.is_refused:
            return None
        left = self.left(debate, plan)
        if left.turns_done < len(plan.config.rounds) or len(left.judges) >= empty_seats(debate.panel, seen.votes).count:
            return None
        return advice(plan.named, debate.panel, seen.votes, seen.reason, may_add_judges=plan.may_add_judges)

    def left(self, debate: ScheduledDebate, plan: Plan) -> RestOfDebate:
        """The calls that are left of a debate.

        A reader of the journal does not see which answers hold no speech or no vote; requests that follow from those
        are not counted.
        """
        turns = len(plan.config.rounds)
        nothing = RestOfDebate(turns, ())
        if debate.debate_id in self._resume.complete_debates:
            return nothing
        banned = self._resume.bans.reasons
        if not self.retry_failed and any(debater in banned for debater in debate.speakers.values()):
            return nothing
        seen = self._seen.get(debate.debate_id)
        if seen is None:
            return RestOfDebate(0, debate.panel)
        done = turns if debate.debate_id in self._resume.reopened else seen.turns_done()
        if not seen.has_ended:
            return RestOfDebate(done, debate.panel, seen.answered())
        if seen.is_refused:
            return nothing
        if not self.retry_failed and (seen.is_silent or (done < turns and not seen.is_for_now)):
            return nothing
        if seen.is_silent:
            done = seen.turns
        seats = empty_seats(debate.panel, seen.votes, {judge.id: judge.context_window for judge in plan.judges})
        asked = {vote.judge_id for vote in seen.votes}
        new = [judge for judge in plan.added_judges if judge not in asked]
        if self.retry_failed:
            judges = [*seats.failed, *new, *seats.unusable]
        else:
            judges = [*filter(seen.is_for_now_of, seats.failed), *new]
        return RestOfDebate(done, tuple(judges[: seats.count]), seen.answered())


def _is_for_now(status: str) -> bool:
    return status in _FOR_NOW or status == "busy"
