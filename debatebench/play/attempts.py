"""One attempt at one call to a provider, and its events in the journal."""

from __future__ import annotations

import base64
from datetime import datetime
from typing import Any

from debatebench.config.types import MemberConfig
from debatebench.play.budget import largest_cost
from debatebench.providers.asking import Step
from debatebench.providers.base import Completion, FailureKind, ProviderFailure, Reply, Request
from debatebench.shared.hashing import hash_of

_STATUS: dict[FailureKind, str] = {
    FailureKind.UNSENT: "unsent",
    FailureKind.RETRY: "retried",
    FailureKind.AMBIGUOUS: "ambiguous",
    FailureKind.EMPTY: "empty",
    FailureKind.FAILED: "failed",
    FailureKind.REFUSED: "refused",
    FailureKind.OVERSIZE: "oversize",
    FailureKind.STOP: "stopped",
}


def call_id_of(run_tag: str, step: Step, request: Request) -> str:
    """SHA-256 over the length-delimited run tag, debate, step and request: the same for every attempt and restart."""
    return hash_of(run_tag, step.debate_id, step.name, request.sha256())


class Attempt:
    """One attempt at one call, and its events."""

    def __init__(self, call_id: str, attempt: int, step: Step, member: MemberConfig, request: Request) -> None:
        self.call_id = call_id
        self.attempt = attempt
        self.step = step
        self.member = member
        self.request = request
        self.request_sha256 = request.sha256()
        self.adjusted: frozenset[str] = frozenset()
        """Optional fields that the server refuses, and for which the request is adjusted when it is sent."""
        self.possible_cost = largest_cost(request, member)
        """The most that the attempt can cost, in USD; None when there is no bound."""

    @property
    def key(self) -> tuple[str, int]:
        """Identifies the attempt within the whole run."""
        return self.call_id, self.attempt

    def intent(self, sent_at: datetime) -> dict[str, Any]:
        """The event written before the request is sent."""
        event: dict[str, Any] = {
            "type": "intent",
            "call_id": self.call_id,
            "attempt": self.attempt,
            "debate_id": self.step.debate_id,
            "step": self.step.name,
            "purpose": self.step.purpose,
            "member": self.member.id,
            "provider": self.member.provider,
            "model": self.member.model,
            "request_sha256": self.request_sha256,
            "sent_at": sent_at.isoformat(),
        }
        if self.possible_cost is not None:
            event["possible_cost"] = str(self.possible_cost)
        if self.adjusted:
            event["adjusted"] = sorted(self.adjusted)
        return event

    def response(self, reply: Reply) -> dict[str, Any]:
        """The event that stores a reply as it was received."""
        event = {
            "type": "response",
            "call_id": self.call_id,
            "attempt": self.attempt,
            "status": reply.status,
            "headers": dict(reply.headers),
            "received_at": reply.received_at.isoformat(),
            "duration_ms": reply.duration_ms,
        }
        try:
            event["body"] = reply.body.decode("utf-8")
        except UnicodeDecodeError:
            event["body_base64"] = base64.b64encode(reply.body).decode("ascii")
        return event

    def row(
        self,
        run_tag: str,
        sent_at: datetime,
        completion: Completion,
        reply: Reply | None,
        failure: ProviderFailure | None,
    ) -> dict[str, Any]:
        """The row of `raw.calls` for one attempt, without its cost. Tokens of a failed attempt are included."""
        is_debater = self.step.purpose == "turn"
        http_status = reply.status if reply is not None else (failure.http_status if failure is not None else None)
        return {
            "run_tag": run_tag,
            "call_id": self.call_id,
            "attempt": self.attempt,
            "debate_id": self.step.debate_id,
            "step": self.step.name,
            "purpose": self.step.purpose,
            "model_id": self.member.id if is_debater else None,
            "judge_id": None if is_debater else self.member.id,
            "provider": self.member.provider,
            "model_name": self.member.model,
            "status": status_of(failure),
            "error": str(failure) if failure is not None else None,
            "http_status": http_status,
            "sent_at": sent_at.isoformat(),
            "duration_ms": reply.duration_ms if reply is not None else None,
            "prompt_tokens": completion.prompt_tokens,
            "completion_tokens": completion.completion_tokens,
            "total_tokens": completion.total_tokens,
            "cached_tokens": completion.cached_tokens,
            "cache_write_tokens": completion.cache_write_tokens,
            "reasoning_tokens": completion.reasoning_tokens,
            "service_tier": completion.service_tier,
            "finish_reason": completion.finish_reason,
            "served_model": completion.served_model,
            "serving_provider": completion.serving_provider,
            "generation_id": completion.generation_id or (failure.generation_id if failure is not None else None),
            "request_sha256": self.request_sha256,
            "adjusted": sorted(self.adjusted) or None,
        }


def status_of(failure: ProviderFailure | None) -> str:
    """The status of an attempt, as `raw.calls` names it."""
    return "answered" if failure is None else _STATUS[failure.kind]


def reply_of(event: dict[str, Any]) -> Reply:
    """The reply that a `response` event holds, byte for byte."""
    body = event["body"].encode("utf-8") if "body" in event else base64.b64decode(event["body_base64"])
    received_at = datetime.fromisoformat(event["received_at"])
    return Reply(event["status"], body, event["headers"], received_at, event["duration_ms"])
