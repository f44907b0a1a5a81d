"""The interface of a provider: it sends one request and returns the raw reply; it reads a reply without sending.

The two steps are separate because the raw reply is journalled between them: after a restart a reply is read from the
journal and never paid for again.
"""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Mapping
from datetime import datetime
from decimal import Decimal
from enum import StrEnum
from functools import cached_property
from typing import Any, Literal, Protocol, Self

import msgspec

from debatebench.shared.json_bytes import json_string, sorted_json
from debatebench.shared.memo import once_each

_LONGEST_CONNECTING_S = 30.0

LOCAL_PARAMETERS = frozenset(
    {
        "bias",
        "debatebench",
        "detects",
        "length_bias",
        "leniency",
        "malformed",
        "noise",
        "order_bias",
        "repairs",
        "skill",
        "structured_output",
        "swayed_by",
        "verbosity",
        "weakness",
    }
)
"""Parameters that are used here and never sent over a network: the traits of simulated debaters and judges,
`debatebench` (the description of a request to a simulated one, as data), `structured_output` (whether to send a JSON
schema), and `repairs` (how often a judge is asked again for an answer that must be an object)."""


class Message(msgspec.Struct, frozen=True):
    """One chat message."""

    role: Literal["system", "user", "assistant"]
    content: str


class Request(msgspec.Struct, frozen=True, dict=True):
    """A request to a provider, the same for every attempt. It contains no address and no key."""

    model: str
    messages: tuple[Message, ...]
    temperature: float | None = None
    max_tokens: int | None = None
    seed: int | None = None
    json_schema: Mapping[str, Any] | None = None
    parameters: Mapping[str, Any] = {}
    earlier: tuple[Request, ...] = ()
    """The same request with parameters that were replaced since; an answer to one of them is used. Not part of it."""

    def sha256(self) -> str:
        """Hash of the request as canonical JSON; equal requests have equal hashes."""
        return self._sha256

    @cached_property
    def _sha256(self) -> str:
        return hashlib.sha256(self._canonical().encode("ascii")).hexdigest()

    def _canonical(self) -> str:
        """All fields as JSON with sorted keys, without blanks, in ASCII, as the standard library writes it."""
        before = f'{{"json_schema":{_schema_text(self.json_schema)},"max_tokens":{sorted_json(self.max_tokens)}'
        messages = ",".join(
            [f'{{"content":{json_string(m.content)},"role":{json_string(m.role)}}}' for m in self.messages]
        )
        after = sorted_json(
            {
                "model": self.model,
                "parameters": dict(self.parameters),
                "seed": self.seed,
                "temperature": self.temperature,
            }
        )
        return f'{before},"messages":[{messages}],{after[1:]}'


# The requests of a panel share a few schemas.
_schema_text = once_each(sorted_json)


class Reply(msgspec.Struct, frozen=True):
    """A raw reply, before any parsing. `headers` holds only what is safe and useful to keep (lower-case names)."""

    status: int
    body: bytes
    headers: Mapping[str, str]
    received_at: datetime
    """Naive UTC, for display; durations come from `duration_ms`, which is measured on the monotonic clock."""
    duration_ms: float


class TimeLimits(msgspec.Struct, frozen=True):
    """How many seconds an attempt may take: to the last byte of the reply, and of these until there is a connection."""

    whole_s: float
    connecting_s: float

    @classmethod
    def of(cls, whole_s: float, connecting_s: float = _LONGEST_CONNECTING_S) -> Self:
        """Connecting gets at most 30 s and a third of the time, so that some is left for the answer."""
        return cls(whole_s, min(connecting_s, _LONGEST_CONNECTING_S, whole_s / 3))


class Completion(msgspec.Struct, frozen=True):
    """The content of a reply. Unknown figures are `None`, never 0; `cost` is USD."""

    text: str
    is_moved: bool = False
    """Whether the text is an object that stood elsewhere in the reply: in a tool call, or instead of text."""
    reasoning: str | None = None
    finish_reason: str | None = None
    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    total_tokens: int | None = None
    cached_tokens: int | None = None
    """Tokens of the prompt that were in the cache of the provider. `prompt_tokens` includes them."""
    cache_write_tokens: int | None = None
    """Tokens of the prompt that were written to the cache. `prompt_tokens` includes them."""
    reasoning_tokens: int | None = None
    """Tokens of the completion that are thinking."""
    audio_tokens: int | None = None
    """Tokens of the prompt and the completion that are sound."""
    service_tier: str | None = None
    """As served, in the provider's word."""
    cost: Decimal | None = None
    currency: str | None = None
    cost_details: Mapping[str, Any] | None = None
    served_model: str | None = None
    serving_provider: str | None = None
    generation_id: str | None = None


class FailureKind(StrEnum):
    """The consequence of a failed attempt for the call, and whether it may have been billed.

    Nothing was generated, so nothing was billed: `unsent` (the request was never sent; try again), `retry` (the
    provider declined for now, as with 429; try again later), `failed` (the request is wrong, as with 400 and 404;
    final), `stop` (401, 402, 403; the whole run stops at once).

    It may have been billed, and where no usage came, the cost is unknown: `ambiguous` (nothing proves that nothing was
    generated; try again and count the possible double), `empty` (an answer without text; try again twice, then final),
    `refused` (moderation; final), `oversize` (final).
    """

    UNSENT = "unsent"
    RETRY = "retry"
    AMBIGUOUS = "ambiguous"
    EMPTY = "empty"
    FAILED = "failed"
    REFUSED = "refused"
    OVERSIZE = "oversize"
    STOP = "stop"


class ProviderFailure(Exception):  # noqa: N818
    """An attempt without a usable completion. `retry_after_s` is the time the provider asks for, within [0, 300].

    `completion` holds tokens, cost and partial text when the reply reported them; `partial_body`
    is the received part of a cut body. With `is_too_long` the request does not fit into the model's context window.
    With `is_lasting` the server cannot be reached for a reason that waiting does not remove. With `is_late` the time
    ended before the whole reply was there.
    The message never holds a key.
    """

    def __init__(
        self,
        kind: FailureKind,
        message: str,
        *,
        http_status: int | None = None,
        retry_after_s: float | None = None,
        completion: Completion | None = None,
        partial_body: bytes | None = None,
        generation_id: str | None = None,
        is_too_long: bool = False,
        is_lasting: bool = False,
        is_late: bool = False,
    ) -> None:
        super().__init__(message)
        self.kind = kind
        self.is_too_long = is_too_long
        self.is_lasting = is_lasting
        self.is_late = is_late
        self.http_status = http_status
        self.retry_after_s = retry_after_s
        self.completion = completion
        self.partial_body = partial_body
        self.generation_id = generation_id


class RefusedFieldError(ProviderFailure):
    """The server refuses an optional field of the request, which can be sent again without it. Nothing was billed."""

    def __init__(self, field: str, failure: ProviderFailure, remedy: str) -> None:
        message = f"{failure} From now on, requests to this model are sent {remedy}."
        super().__init__(FailureKind.RETRY, message, http_status=failure.http_status)
        self.field = field


class Provider(Protocol):
    """A service that answers requests. `debatebench.providers.make_provider` makes one per provider and endpoint."""

    name: str
    is_simulated: bool

    async def send(self, request: Request, adjusted: Collection[str] = (), limits: TimeLimits | None = None) -> Reply:
        """Send `request` once, within its time limits; return any reply with an HTTP status, including an error status.

        The request is adjusted for the optional fields in `adjusted`, which the server refuses (`refused_fields.py`).

        Raises `ProviderFailure` when no whole reply arrived: unsent, ambiguous, oversize, or stop where a proxy wants a
        password.
        """
        ...

    def read(self, reply: Reply, request: Request | None = None, adjusted: Collection[str] = ()) -> Completion:
        """Read a reply, new or from the journal. Pure. Raises `ProviderFailure` when it holds no usable answer.

        With the request to which it replies, the failure is a `RefusedFieldError` if it refuses another optional field.
        """
        ...

    async def aclose(self) -> None:
        """Close connections."""
        ...
