"""All requests of one step to one judge: their answers, and why they hold no vote."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any

from debatebench.config.types import MemberConfig
from debatebench.providers.asking import Answer, Ask, CallFailedError, Step
from debatebench.providers.base import Request
from debatebench.providers.prices import cost_of
from debatebench.shared.advice import unanswered

# What no request costs.
_NOTHING = {
    "latency_ms": 0.0,
    "prompt_tokens": 0,
    "completion_tokens": 0,
    "total_tokens": 0,
    "cost": Decimal(0),
    "cost_source": "billed",
    "currency": "USD",
}


@dataclass(slots=True)
class JudgeAsks:
    """Sends requests to one judge and records the results. `reasons` lists, per request, why it was not the last.

    `rejected` holds the text of each of those answers; None where the call ended without an answer.
    """

    judge: MemberConfig
    asks: int = 0
    answers: list[Answer] = field(default_factory=list)
    reasons: list[str] = field(default_factory=list)
    rejected: list[str | None] = field(default_factory=list)
    last_call_id: str | None = None

    async def ask(self, ask: Ask, step: Step, request: Request) -> Answer | None:
        """The judge's answer, or None when the call ended without one; the reason is then recorded."""
        self.asks += 1
        try:
            answer = await ask(step, self.judge, request)
        except CallFailedError as failure:
            self.last_call_id = failure.call_id
            self._reject(unanswered(failure.kind, str(failure), is_too_long=failure.is_too_long), None)
            return None
        self.last_call_id = answer.call_id
        self.answers.append(answer)
        return answer

    def reject(self, reason: str) -> None:
        """Record that the last answer is of no use."""
        self._reject(reason, self.answers[-1].completion.text)

    def _reject(self, reason: str, text: str | None) -> None:
        self.reasons.append(reason)
        self.rejected.append(text)


def spent(steps: Sequence[JudgeAsks], judge: MemberConfig) -> dict[str, Any]:
    """Tokens and cost of all answers: the sums of their known parts, and None where nothing is known.

    Attempts that gave no answer are not in it; `raw.calls` has them all. The duration is None, and never too small, if
    a request had no answer.
    """
    answers = [answer for step in steps for answer in step.answers]
    if not any(step.asks for step in steps):
        return dict(_NOTHING)
    has_all = len(answers) == sum(step.asks for step in steps)
    said = [answer.completion for answer in answers]
    costs = [cost_of(completion, judge) for completion in said]
    cost = _sum(each.usd for each in costs)
    currencies = {completion.currency for completion in said if completion.currency}
    return {
        "latency_ms": _sum(answer.duration_ms for answer in answers) if has_all else None,
        "prompt_tokens": _sum(completion.prompt_tokens for completion in said),
        "completion_tokens": _sum(completion.completion_tokens for completion in said),
        "total_tokens": _sum(completion.total_tokens for completion in said),
        "cost": cost,
        "cost_source": None if cost is None else _weakest([each.source for each in costs]),
        "currency": None if cost is None else "".join(currencies) if len(currencies) == 1 else "USD",
    }


def _sum(amounts: Iterable[Any]) -> Any:
    """The sum of what is known; None if nothing is."""
    known = [amount for amount in amounts if amount is not None]
    return sum(known[1:], start=known[0]) if known else None


def _weakest(sources: list[Any]) -> str:
    """A sum counts as billed only when all its parts were billed."""
    return "estimated" if "estimated" in sources else "billed"
