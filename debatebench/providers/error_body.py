"""The error in a body, in any of the forms that providers use.

    {"error": {"message": …, "code": …, "type": …, "details": […], "metadata": {…}}}    OpenAI and most others
    [{"error": {…}}]                                                                     Gemini
    {"error": "…", "code": "…"}                                                          xAI
    {"object": "error", "message": {"detail": [{"loc": […], "msg": …}]}}                 Mistral
    {"detail": [{"loc": […], "msg": …}]}                                                 FastAPI
    {"error": {"metadata": {"raw": "{\\"error\\": …}"}}}                                   OpenRouter, with JSON as text

What a validation error quotes of the request is not part of the message.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from debatebench.shared.json_bytes import mapping, objects

_DEEPEST = 4
_PLACES = ("innererror", "metadata")
_MESSAGES = ("msg", "message", "detail", "error")


@dataclass(frozen=True, slots=True)
class ErrorBody:
    """What an error tells."""

    message: str = ""
    """All messages, of the error and of the one that it quotes, with `: ` between."""
    codes: tuple[str, ...] = ()
    """Every code, status name, type and reason in lower case; the error's own come first."""
    is_own: bool = False
    """It has a form of provider's errors. A gateway sends a page, a lone `message`, or problem details (RFC 9457)."""
    is_moderation: bool = False
    """It lists reasons of moderation or quotes the flagged input."""
    retry_delay: str | None = None
    """`retryDelay` of a `RetryInfo`, such as `36s`."""
    headers: Mapping[str, Any] = field(default_factory=dict)
    """The headers of the provider that the error quotes, with lower-case names."""

    @classmethod
    def of(cls, data: Any, depth: int = 0) -> ErrorBody:
        """The error in a JSON value; without messages and codes if there is none."""
        if isinstance(data, list) and data:
            data = data[0]
        if not isinstance(data, dict):
            return cls()
        is_own = _is_own(data)
        error = data.get("error")
        if not isinstance(error, dict):
            error = {**data, "message": _told(error) or _told(data.get("message")) or _told(data.get("detail"))}
        metadata, details = mapping(error.get("metadata")), objects(error.get("details"))
        raw = metadata.get("raw")
        nested = cls.of(_loaded(raw), depth + 1) if isinstance(raw, str) and depth < _DEEPEST else cls()
        quoted = nested.message or (raw if isinstance(raw, str) else "")
        return cls(
            message=": ".join(words for words in (_told(error.get("message")), quoted) if words),
            codes=(*_codes(error, details), *nested.codes),
            is_own=is_own,
            is_moderation=bool(metadata.get("reasons") or metadata.get("flagged_input")) or nested.is_moderation,
            retry_delay=next((d["retryDelay"] for d in details if isinstance(d.get("retryDelay"), str)), None)
            or nested.retry_delay,
            headers={name.lower(): value for name, value in mapping(metadata.get("headers")).items()},
        )


def _is_own(data: dict[str, Any]) -> bool:
    if "title" in data and "status" in data:
        return False
    return bool(data.get("error") or data.get("detail")) or (
        bool(data.get("message")) and any(data.get(name) is not None for name in ("object", "code", "type"))
    )


def _codes(error: dict[str, Any], details: list[dict[str, Any]]) -> Iterator[str]:
    places = [error, *(mapping(error.get(name)) for name in _PLACES)]
    found = [place.get(name) for place in places for name in ("code", "status", "type")]
    found += [detail.get("reason") for detail in details]
    for code in found:
        if isinstance(code, str) or (isinstance(code, int) and not isinstance(code, bool)):
            yield str(code).lower()


def _told(value: Any, depth: int = 0) -> str:
    """The words of a message, which may be an object or a list."""
    if isinstance(value, str) or depth > _DEEPEST:
        return value if isinstance(value, str) else ""
    if isinstance(value, list):
        return "; ".join(words for words in (_told(item, depth + 1) for item in value) if words)
    if not isinstance(value, dict):
        return ""
    words = next((words for name in _MESSAGES if (words := _told(value.get(name), depth + 1))), "")
    place = value.get("loc")
    path = ".".join(str(step) for step in place if isinstance(step, str | int)) if isinstance(place, list) else ""
    return f"{path}: {words}" if path and words else words


def _loaded(text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None
