"""What a debater or judge is asked, the answer, and what it cost."""

from __future__ import annotations

from datetime import datetime
from decimal import Decimal
from typing import TYPE_CHECKING, Literal, Protocol

import msgspec

from debatebench.providers.base import Completion, FailureKind, Request
from debatebench.shared.errors import DebatebenchError
from debatebench.shared.records import MOST_MONEY, CostSource

if TYPE_CHECKING:
    from debatebench.config.types import MemberConfig

__all__ = ["Answer", "Ask", "CallFailedError", "Step", "cost_of"]


class Step(msgspec.Struct, frozen=True):
    """The place of a call in its debate: `turn:0`, `verdict:j3:0`. The call's id is made from it and the request.

    `calls_after` is the number of calls that must follow, one after another, until the debate is over.
    """

    debate_id: str
    name: str
    purpose: Literal["turn", "verdict"]
    calls_after: int = 0


class Answer(msgspec.Struct, frozen=True):
    """A completion that is durable in the journal, with what is known about its call."""

    call_id: str
    completion: Completion
    received_at: datetime
    duration_ms: float


class CallFailedError(DebatebenchError):
    """A call ended without an answer: refused, empty, too large, rejected, or out of attempts."""

    def __init__(self, kind: FailureKind, message: str, call_id: str) -> None:
        super().__init__(message)
        self.kind = kind
        self.call_id = call_id


class Ask(Protocol):
    """Sends a request to a configured debater or judge. Replays answers from the journal, retries where possible.

    Raises `CallFailedError` when the call has ended without an answer. Any other error, such as that the run stops,
    must reach the caller's caller uncaught.
    """

    async def __call__(self, step: Step, member: MemberConfig, request: Request) -> Answer: ...


def cost_of(completion: Completion, member: MemberConfig) -> tuple[Decimal | None, CostSource | None]:
    """USD of a completion: as the provider billed it, else from the configured prices, else unknown (None, never 0)."""
    if completion.cost is not None:
        return completion.cost, "billed"
    if member.pricing is None or completion.prompt_tokens is None or completion.completion_tokens is None:
        return None, None
    cost = member.pricing.prompt * completion.prompt_tokens + member.pricing.completion * completion.completion_tokens
    # An amount larger than any column holds comes from implausible token counts.
    return (cost, "estimated") if cost <= MOST_MONEY else (None, None)
