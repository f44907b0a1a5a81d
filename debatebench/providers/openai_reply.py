"""The content of a chat-completions reply: a completion, or why there is none and whether it may have been billed.

Everything here is pure, so a reply from the journal gives the same result as when it came. Format: the chat completion
object of OpenAI's API reference, with OpenRouter's additions (`usage.cost`, `provider`, `choices[].error`,
`error.metadata`).
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any

import msgspec

from debatebench.providers.base import Completion, FailureKind, ProviderFailure, Reply
from debatebench.providers.redaction import REDACTED, excerpt
from debatebench.providers.retry_after import retry_after_s
from debatebench.shared.records import MOST_MONEY, clean_text

__all__ = ["ReplySource", "read_reply"]

_MODERATION_CODES = {
    "content_filter",
    "content_filtered",
    "content_policy_violation",
    "content_moderation",
    "moderation",
    "moderation_blocked",
    "responsibleaipolicyviolation",
}
_OUT_OF_CREDIT_CODES = {"insufficient_quota", "billing_hard_limit_reached", "insufficient_credits"}
_STATUS_OF_CODE = {
    "invalid_request_error": 400,
    "context_length_exceeded": 400,
    "model_not_found": 404,
    "invalid_api_key": 401,
    "authentication_error": 401,
    "permission_error": 403,
    "rate_limit_exceeded": 429,
    "rate_limit_error": 429,
    "overloaded_error": 529,
    "server_error": 500,
    "api_error": 500,
    "timeout": 408,
}
# 409 and 425 mean "not now", like the other three; so does every 5xx.
_RETRIED_STATUSES = {408, 409, 425, 429}
_LARGEST_COUNT = 10**12


@dataclass(frozen=True, slots=True)
class ReplySource:
    """The source of replies, as far as reading and naming them requires."""

    name: str
    key_variable: str | None = None
    reports_usd: bool = False
    """Whether `usage.cost` is documented to be USD."""
    keys: tuple[str, ...] = field(default=(), repr=False)

    def clean(self, text: str) -> str:
        """A string from a body, safe to keep: a key may occur in JSON escapes, which hide it in the raw body."""
        for key in self.keys:
            text = text.replace(key, REDACTED)
        return clean_text(text)


def read_reply(reply: Reply, source: ReplySource) -> Completion:
    """Read a reply. Raises only `ProviderFailure`, when it holds no usable answer."""
    if 300 <= reply.status < 400:
        raise ProviderFailure(
            FailureKind.FAILED,
            f"{source.name} answered {reply.status}, a redirect, and redirects are not followed: "
            "give the final address as `endpoint`.",
            http_status=reply.status,
        )
    data = _load(reply.body)
    if not 200 <= reply.status < 300:
        raise _declined(reply, source, reply.status, _error_of(data))
    if not isinstance(data, dict):
        raise ProviderFailure(
            FailureKind.AMBIGUOUS,
            f"{source.name} answered {reply.status} with {len(reply.body)} bytes that are no JSON object "
            f"(content type: {excerpt(reply.headers.get('content-type', 'none'), source.keys)}).",
            http_status=reply.status,
            partial_body=reply.body,
            generation_id=reply.headers.get("x-generation-id"),
        )
    completion = _completion(data, reply, source)
    if data.get("error") or data.get("object") == "error":
        error = _error_of(data)
        raise _declined(reply, source, _status_of(error), error, completion)
    objection = _objection(completion, _first_choice(data), source)
    if objection is None:
        return completion
    kind, words = objection
    raise ProviderFailure(
        kind,
        f"{source.name} answered {reply.status}, {words}.",
        http_status=reply.status,
        completion=completion,
        generation_id=completion.generation_id,
    )


def _objection(completion: Completion, choice: dict[str, Any], source: ReplySource) -> tuple[FailureKind, str] | None:
    """Why an answer does not count: it broke off, was refused, or holds no text."""
    if choice.get("error") or completion.finish_reason == "error":
        return FailureKind.RETRY, f"but the answer broke off with an error{_said(_error_of(choice), source)}"
    if completion.finish_reason == "content_filter":
        return FailureKind.REFUSED, "but the answer was stopped by a content filter"
    refusal = _mapping(choice.get("message")).get("refusal")
    if isinstance(refusal, str) and refusal.strip():
        return FailureKind.REFUSED, f"but the answer is a refusal ({excerpt(refusal, source.keys)})"
    # An answer without text because of the token limit counts: a retry is billed again and ends the same way.
    if not completion.text.strip() and completion.finish_reason != "length":
        return FailureKind.EMPTY, "but the answer holds no text"
    return None


def _declined(
    reply: Reply, source: ReplySource, status: int | None, error: dict[str, Any], completion: Completion | None = None
) -> ProviderFailure:
    """The failure for an error status, or for an error in a body of status 200."""
    kind = _kind_of(status, error)
    answer = (
        f"{reply.status}" if status == reply.status else f"{reply.status} with error {status or 'of no known code'}"
    )
    return ProviderFailure(
        kind,
        f"{source.name} answered {answer}{_said(error, source)}{_way_out(kind, status, source)}.",
        http_status=status or reply.status,
        retry_after_s=retry_after_s(reply.headers, reply.received_at) if kind is FailureKind.RETRY else None,
        completion=completion,
        generation_id=completion.generation_id if completion else reply.headers.get("x-generation-id"),
    )


def _kind_of(status: int | None, error: dict[str, Any]) -> FailureKind:
    """Retry, stop, refused or failed. An error without a known code is retried."""
    codes = {
        code.lower()
        for place in (error, _mapping(error.get("innererror")), _mapping(error.get("metadata")))
        for code in (place.get("code"), place.get("type"))
        if isinstance(code, str)
    }
    if codes & _OUT_OF_CREDIT_CODES:
        # OpenAI sends 429 for an exhausted account, where waiting does not help.
        return FailureKind.STOP
    if codes & _MODERATION_CODES or (status == 403 and _mapping(error.get("metadata")).get("reasons")):
        return FailureKind.REFUSED
    if status in (401, 402, 403):
        return FailureKind.STOP
    if status is None or status in _RETRIED_STATUSES or status >= 500:
        return FailureKind.RETRY
    return FailureKind.FAILED


def _way_out(kind: FailureKind, status: int | None, source: ReplySource) -> str:
    """What the user can do about a stop."""
    if kind is not FailureKind.STOP:
        return ""
    account = f"the key in {source.key_variable}" if source.key_variable else "`api_key_env` of this endpoint"
    if status == 401:
        return f": check {account}"
    if status == 403:
        return f": check what {account} may be used for"
    return f": check the credit of the account behind {account}"


def _said(error: dict[str, Any], source: ReplySource) -> str:
    """The provider's message in brackets, safe to show."""
    raw = _mapping(error.get("metadata")).get("raw")
    words = [excerpt(text, source.keys) for text in (error.get("message"), raw) if isinstance(text, str)]
    said = ": ".join(word for word in words if word)
    return f" ({said})" if said else ""


def _error_of(data: Any) -> dict[str, Any]:
    """The error object of a body, in any of the usual forms; empty when there is none."""
    if isinstance(data, list) and data:
        data = data[0]
    if not isinstance(data, dict):
        return {}
    error = data.get("error")
    if isinstance(error, dict):
        return error
    message = error if isinstance(error, str) else data.get("message") or data.get("detail")
    return {"message": message, "code": data.get("code"), "type": data.get("type")}


def _status_of(error: dict[str, Any]) -> int | None:
    """The HTTP status that corresponds to an error in a body of status 200."""
    for code in (error.get("code"), error.get("status"), error.get("type")):
        if isinstance(code, str) and code.lower() in _STATUS_OF_CODE:
            return _STATUS_OF_CODE[code.lower()]
        if isinstance(code, str) and code.isascii() and code.isdigit() and len(code) == 3:
            code = int(code)
        if isinstance(code, int) and 400 <= code <= 599:
            return code
    return None


def _completion(data: dict[str, Any], reply: Reply, source: ReplySource) -> Completion:
    """All figures and text in the body, with `None` for missing ones."""
    choice = _first_choice(data)
    message = _mapping(choice.get("message"))
    usage = _mapping(data.get("usage"))
    prompt, completion = _count(usage.get("prompt_tokens")), _count(usage.get("completion_tokens"))
    total = _count(usage.get("total_tokens"))
    cost = _cost(usage)
    return Completion(
        text=_text(message.get("content"), source),
        reasoning=_text(message.get("reasoning") or message.get("reasoning_content"), source) or None,
        finish_reason=_word(choice.get("finish_reason"), source),
        prompt_tokens=prompt,
        completion_tokens=completion,
        total_tokens=prompt + completion if total is None and prompt is not None and completion is not None else total,
        cost=cost,
        currency="USD" if cost is not None and (source.reports_usd or "currency" in usage) else None,
        cost_details=_plain(usage["cost_details"], source) if isinstance(usage.get("cost_details"), dict) else None,
        served_model=_word(data.get("model"), source),
        serving_provider=_word(data.get("provider"), source),
        generation_id=_word(data.get("id"), source) or reply.headers.get("x-generation-id"),
    )


def _load(body: bytes) -> Any:
    """The JSON value of a body, numbers exact; `None` when it is not JSON in UTF-8 without a byte order mark."""
    try:
        return _DECODE(body)
    except (ValueError, RecursionError):
        return _load_slowly(body)


def _load_slowly(body: bytes) -> Any:
    """The same, also for input that only the standard library accepts: lone surrogates, `NaN`."""
    try:
        return json.loads(body.decode("utf-8"), parse_float=_exact, parse_constant=Decimal)
    except (ValueError, RecursionError):
        return None


def _exact(text: str) -> Decimal:
    """The number as written; NaN if it is outside the range of a decimal."""
    try:
        return Decimal(text)
    except ArithmeticError:
        return Decimal("NaN")


_DECODE = msgspec.json.Decoder(float_hook=_exact).decode


def _first_choice(data: dict[str, Any]) -> dict[str, Any]:
    choices = data.get("choices")
    return _mapping(choices[0]) if isinstance(choices, list) and choices else {}


def _mapping(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _word(value: Any, source: ReplySource) -> str | None:
    return source.clean(value) if isinstance(value, str) and value else None


def _text(content: Any, source: ReplySource) -> str:
    """Content as one string; a list of parts is joined, and only its text parts count."""
    parts = content if isinstance(content, list) else [content]
    texts = []
    for part in parts:
        if isinstance(part, dict) and part.get("type", "text") in ("text", "output_text"):
            part = part.get("text")
        if isinstance(part, str):
            texts.append(part)
    return source.clean("".join(texts))


def _count(value: Any) -> int | None:
    """A number of tokens; 12.0 is valid, because JSON has no integers."""
    if isinstance(value, Decimal) and value.is_finite() and abs(value) < _LARGEST_COUNT and value == int(value):
        value = int(value)
    if isinstance(value, bool) or not isinstance(value, int):
        return None
    return value if 0 <= value < _LARGEST_COUNT else None


def _cost(usage: dict[str, Any]) -> Decimal | None:
    """`usage.cost` in USD; an amount in another currency cannot be added up here and is ignored."""
    cost = usage.get("cost")
    if usage.get("currency") not in (None, "USD", "usd"):
        return None
    if isinstance(cost, int) and not isinstance(cost, bool):
        cost = Decimal(cost)
    if not isinstance(cost, Decimal) or not cost.is_finite() or not 0 <= cost <= MOST_MONEY:
        return None
    return abs(cost)


def _plain(value: Any, source: ReplySource) -> Any:
    """The same value without decimals, so that it can be written as JSON again; non-finite numbers are unknown."""
    if isinstance(value, dict):
        return {source.clean(key): _plain(item, source) for key, item in value.items()}
    if isinstance(value, list):
        return [_plain(item, source) for item in value]
    if isinstance(value, Decimal):
        number = float(value)
        return number if abs(number) < float("inf") else None
    return source.clean(value) if isinstance(value, str) else value
