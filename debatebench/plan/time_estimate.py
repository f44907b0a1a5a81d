"""How long a plan will take, from stored durations of the same models. Pure."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from statistics import median
from typing import TYPE_CHECKING

from debatebench.plan.hearings import Hearings
from debatebench.providers import is_simulated
from debatebench.shared.amounts import duration_text

if TYPE_CHECKING:
    from debatebench.config.types import MemberConfig
    from debatebench.plan.plan import Plan
    from debatebench.shared.records import ScheduledDebate

ModelKey = tuple[str, str]
"""Provider and its name of a model."""


@dataclass(frozen=True, slots=True)
class Latencies:
    """Median milliseconds of a call, by (provider, model): a debater's speech, and one request to a judge."""

    turn_ms: Mapping[ModelKey, float]
    request_ms: Mapping[ModelKey, float]


@dataclass(frozen=True, slots=True)
class TimeEstimate:
    """The least and most seconds that a plan takes if every call takes its median time and none is retried.

    `least_s` is the larger of the two bounds: all calls divided by the slots, and the longest debate. `most_s` adds the
    longest debate to the share of the slots, which no order of work exceeds (Graham, "Bounds for certain
    multiprocessing anomalies", 1966). `assumed` names the members without a stored timing, for which the median of the
    others in the same role is used; all figures are None when there are no timings.
    """

    calls: int
    concurrency: int
    call_s: float | None
    longest_debate_s: float | None
    least_s: float | None
    most_s: float | None
    assumed: tuple[str, ...]

    def summary(self) -> str:
        """The estimate in words, for a user who plans a run."""
        if self.least_s is None or self.most_s is None:
            return "No timings of these debaters and judges are stored, so the duration is unknown."
        if self.most_s == 0:
            return (
                "All debaters and judges are simulated and answer at once, so the duration is only the computing time."
            )
        least, most, longest = map(duration_text, (self.least_s, self.most_s, self.longest_debate_s or 0.0))
        text = (
            f"{self.calls:,} calls, {self.concurrency} at once: {least} to {most} (the longest debate takes "
            f"{longest}), not counting retries and waiting for rate limits."
        )
        if self.assumed:
            text += f" Without stored timings, so estimated by the median of the others: {', '.join(self.assumed)}."
        return text


def estimate_time(plan: Plan, stored: Latencies, concurrency: int) -> TimeEstimate:
    """The time that the debates of `plan` take. Simulated members answer at once, whatever durations they report.

    A judge's requests that wait for each other take their time one after another, all others at the same time.
    """
    hearings = Hearings(plan)
    asked = {judge_id for d in plan.debates for judge_id in d.panel if hearings.of(d, judge_id).calls}
    turn_s, unknown_debaters = _seconds(
        plan.debaters, stored.turn_ms, {id_ for d in plan.debates for id_ in d.speakers.values()}
    )
    request_s, unknown_judges = _seconds(plan.judges, stored.request_ms, asked)
    assumed = tuple(sorted(unknown_debaters | unknown_judges))
    calls = sum(hearings.calls_by_debate().values())
    if turn_s is None or request_s is None:
        return TimeEstimate(calls, concurrency, None, None, None, None, assumed)
    work = longest = 0.0
    for debate in plan.debates:
        speaking = _speaking_s(plan, debate, turn_s)
        judging = [(request_s[judge_id], hearings.of(debate, judge_id)) for judge_id in debate.panel]
        work += speaking + sum(seconds * len(hearing.calls) for seconds, hearing in judging)
        # Requests to the judges of a panel are sent at the same time.
        longest = max(longest, speaking + max((seconds * hearing.depth for seconds, hearing in judging), default=0.0))
    share = work / concurrency
    return TimeEstimate(calls, concurrency, work, longest, max(share, longest), share + longest, assumed)


def _speaking_s(plan: Plan, debate: ScheduledDebate, turn_s: Mapping[str, float]) -> float:
    speakers = debate.speakers
    return sum(turn_s[speakers[turn.role]] for turn in plan.config.rounds)


def _seconds(
    members: Sequence[MemberConfig], stored_ms: Mapping[ModelKey, float], asked: Collection[str]
) -> tuple[dict[str, float] | None, set[str]]:
    """Seconds per call by id, and the used members without a stored timing; None where there are no timings."""
    known: dict[str, float] = {}
    unknown: set[str] = set()
    for member in members:
        if is_simulated(member.provider):
            known[member.id] = 0.0
        elif (stored := stored_ms.get((member.provider, member.model))) is not None:
            known[member.id] = stored / 1000
        else:
            unknown.add(member.id)
    hosted = [known[member.id] for member in members if member.id in known and not is_simulated(member.provider)]
    if unknown & set(asked) and not hosted:
        return None, unknown & set(asked)
    typical = median(hosted) if hosted else 0.0
    return {**known, **dict.fromkeys(unknown, typical)}, unknown & set(asked)
