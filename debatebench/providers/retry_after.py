"""The time that a provider asks to wait."""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from email.utils import parsedate_to_datetime

from debatebench.providers.error_body import ErrorBody

LONGEST_WAIT_S = 300.0

_LONGEST_DURATION = 64
_NUMBER = re.compile(r"[+-]?\d{1,300}(?:\.\d{0,300})?")
_AMOUNT = re.compile(r"(\d{1,9}(?:\.\d{1,9})?)\s?(milliseconds?|ms|seconds?|s|minutes?|m|hours?|h|days?|d)(?![a-z])\s?")
_SECONDS_PER_UNIT = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0}
# OpenAI, Groq, Azure, LiteLLM: "try again in 7m12s"; Gemini: "retry in 36.2s".
_ASKED = re.compile(r"\b(?:try again|retry) (?:in|after) (?=\d)", re.IGNORECASE)
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def retry_after_s(
    headers: Mapping[str, str], received_at: datetime, *, status: int | None = None, error: ErrorBody | None = None
) -> float | None:
    """Seconds to wait, within [0, 300], or `None` when the reply does not tell. The first of these counts:

    `retry-after-ms`, `retry-after` (RFC 9110 §10.2.3) and what LiteLLM passes on of them; the delay in the error;
    a time in its message; the limit's end in the headers that OpenRouter quotes; with status 429 the headers
    `x-ratelimit-reset-…` (OpenAI, Groq) of limits of which nothing remains.

    Points in time are compared with the reply's own `date` header, because both come from the same clock; without that
    header with `received_at` (naive UTC).
    """
    now = _date(headers.get("date")) or received_at.replace(tzinfo=UTC)
    waits = [
        _milliseconds(headers.get("retry-after-ms")),
        _retry_after(headers.get("retry-after"), now),
        _retry_after(headers.get("llm_provider-retry-after"), now),
    ]
    if error is not None:
        waits += [_duration(error.retry_delay), _asked(error.message), _until(error.headers, now)]
    if status == 429:
        waits.append(_exhausted(headers))
    seconds = next((wait for wait in waits if wait is not None), None)
    return None if seconds is None else min(max(seconds, 0.0), LONGEST_WAIT_S)


def _milliseconds(value: str | None) -> float | None:
    number = _number(value)
    return None if number is None else number / 1000


def _retry_after(value: str | None, now: datetime) -> float | None:
    """Seconds, or a date."""
    seconds = _number(value)
    until = _date(value) if seconds is None else None
    return seconds if until is None else (until - now).total_seconds()


def _asked(message: str) -> float | None:
    asked = _ASKED.search(message)
    return _duration(message[asked.end() :]) if asked else None


def _until(headers: Mapping[str, object], now: datetime) -> float | None:
    """Seconds until `x-ratelimit-reset`, in milliseconds since 1970."""
    milliseconds = _milliseconds(str(headers.get("x-ratelimit-reset")))
    if milliseconds is None or not 0 <= milliseconds < 1e11:
        return None
    return (_EPOCH + timedelta(seconds=milliseconds) - now).total_seconds()


def _exhausted(headers: Mapping[str, str]) -> float | None:
    """Seconds until every exhausted limit is renewed."""
    waits = [
        _duration(headers.get(f"x-ratelimit-reset-{what}"))
        for what in ("requests", "tokens")
        if _number(headers.get(f"x-ratelimit-remaining-{what}")) == 0
    ]
    return max((wait for wait in waits if wait is not None), default=None)


def _duration(text: str | None) -> float | None:
    """Seconds of a duration at the beginning of a text: `7m12s`, `36.2s`, `120ms`, `20 seconds`."""
    start = (text or "")[:_LONGEST_DURATION].lower()
    total, position = None, 0
    while found := _AMOUNT.match(start, position):
        unit = "ms" if found[2].startswith(("ms", "milli")) else found[2][0]
        total = (total or 0.0) + float(found[1]) * _SECONDS_PER_UNIT[unit]
        position = found.end()
    return total


def _number(value: str | None) -> float | None:
    """A plain decimal number; other forms that `float` accepts (`nan`, `1e9`, `1_000`) are rejected."""
    if value is None or not value.isascii() or not _NUMBER.fullmatch(value.strip()):
        return None
    return float(value)


def _date(value: str | None) -> datetime | None:
    """An HTTP date in any of its three forms; a date without a zone is UTC."""
    try:
        date = parsedate_to_datetime(value or "")
    except (ValueError, TypeError, IndexError, OverflowError):
        return None
    return date if date.tzinfo is not None else date.replace(tzinfo=UTC)
