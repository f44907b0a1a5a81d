"""All requests to one judge about one debate: their answers, reasons, tokens, cost and duration."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from debatebench.providers.asking import Answer, Ask, CallFailedError, Step, cost_of
from debatebench.shared.records import Verdict

if TYPE_CHECKING:
    from debatebench.config.types import MemberConfig
    from debatebench.judges.base import Seat, Transcript
    from debatebench.judges.parsing import ParsedVerdict
    from debatebench.providers.base import Request

__all__ = ["JudgeAsks"]


@dataclass(slots=True)
class JudgeAsks:
    """Sends requests to one judge and records the results. `reasons` lists, per request, why there is no vote yet.

    `rejected` holds the text of each of those answers; None where the call ended without an answer.
    """

    seat: Seat
    asks: int = 0
    answers: list[Answer] = field(default_factory=list)
    reasons: list[str] = field(default_factory=list)
    rejected: list[str | None] = field(default_factory=list)
    last_call_id: str | None = None

    async def ask(self, ask: Ask, step: Step, request: Request) -> Answer | None:
        """The judge's answer, or None when the call ended without one; the reason is then recorded."""
        self.asks += 1
        try:
            answer = await ask(step, self.seat.judge, request)
        except CallFailedError as failure:
            self.last_call_id = failure.call_id
            self._reject(f"the call ended without an answer ({failure.kind}): {failure}", None)
            return None
        self.last_call_id = answer.call_id
        self.answers.append(answer)
        return answer

    def reject(self, reason: str) -> None:
        """Record that the last answer contains no vote."""
        self._reject(reason, self.answers[-1].completion.text)

    def _reject(self, reason: str, text: str | None) -> None:
        self.reasons.append(reason)
        self.rejected.append(text)

    def verdict(self, transcript: Transcript, parsed: ParsedVerdict | None, *, is_injection_suspected: bool) -> Verdict:
        """The row of `raw.verdicts`; without `parsed` the verdict is invalid, with the last reason."""
        last = self.answers[-1] if self.answers else None
        served_model = last.completion.served_model if last else None
        metadata = {
            "flags": list(parsed.flags) if parsed else [],
            "reasons": self.reasons,
            "rejected": self.rejected,
            "finish_reason": last.completion.finish_reason if last else None,
            "served_model": served_model if served_model != self.seat.judge.model else None,
            "cost_details": dict(last.completion.cost_details) if last and last.completion.cost_details else None,
        }
        return Verdict(
            run_tag=transcript.run_tag,
            debate_id=transcript.debate_id,
            judge_id=self.seat.judge.id,
            panel_position=self.seat.position,
            presented_first=self.seat.first or (transcript.turns[0].side if transcript.turns else None),
            is_valid=parsed is not None,
            invalid_reason=None if parsed else self.reasons[-1],
            declared_winner=parsed.declared_winner if parsed else None,
            scores=parsed.scores if parsed else None,
            raw_response=last.completion.text if last else None,
            created_at=last.received_at if last else None,
            asks=self.asks,
            replaces_judge_id=self.seat.replaces_judge_id,
            is_repaired=parsed is not None and parsed.is_repaired,
            is_injection_suspected=is_injection_suspected,
            call_id=self.last_call_id,
            metadata={name: value for name, value in metadata.items() if value} or None,
            **self._spent(self.seat.judge),
        )

    def _spent(self, judge: MemberConfig) -> dict[str, Any]:
        """Tokens, cost and duration summed over the requests; a sum with an unknown part is None, never too small."""
        said = [answer.completion for answer in self.answers]
        costs = [cost_of(completion, judge) for completion in said]
        cost = self._total([amount for amount, _ in costs])
        currencies = {completion.currency for completion in said if completion.currency}
        return {
            "latency_ms": self._total([answer.duration_ms for answer in self.answers]),
            "prompt_tokens": self._total([completion.prompt_tokens for completion in said]),
            "completion_tokens": self._total([completion.completion_tokens for completion in said]),
            "total_tokens": self._total([completion.total_tokens for completion in said]),
            "cost": cost,
            "cost_source": None if cost is None else _weakest([source for _, source in costs]),
            "currency": None if cost is None else "".join(currencies) if len(currencies) == 1 else "USD",
        }

    def _total(self, amounts: list[Any]) -> Any:
        """The sum over all requests; None when a part is unknown or a call ended without an answer."""
        if len(amounts) < self.asks or not amounts or any(amount is None for amount in amounts):
            return None
        return sum(amounts[1:], start=amounts[0])


def _weakest(sources: list[Any]) -> str:
    """A sum counts as billed only when all its parts were billed."""
    return "estimated" if "estimated" in sources else "billed"
