"""What a debater or judge is asked, and the answer."""

from __future__ import annotations

from datetime import datetime
from typing import Literal, Protocol

import msgspec

from debatebench.config.types import MemberConfig
from debatebench.providers.base import Completion, FailureKind, Request
from debatebench.shared.errors import DebatebenchError


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
    """A call ended without an answer: refused, empty, too large, rejected, or out of attempts; or it was never sent.

    `call_id` is None if there was no attempt. With `is_too_long` the request does not fit into the model's context
    window.
    """

    def __init__(self, kind: FailureKind, message: str, call_id: str | None, *, is_too_long: bool = False) -> None:
        super().__init__(message)
        self.kind = kind
        self.call_id = call_id
        self.is_too_long = is_too_long


class Ask(Protocol):
    """Sends a request to a configured debater or judge. Replays answers from the journal, retries where possible.

    Raises `CallFailedError` when the call has ended without an answer. Any other error, such as that the run stops,
    must reach the caller's caller uncaught.
    """

    async def __call__(self, step: Step, member: MemberConfig, request: Request) -> Answer: ...
