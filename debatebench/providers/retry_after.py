"""The time that a provider asks to wait."""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime

__all__ = ["LONGEST_WAIT_S", "retry_after_s"]

LONGEST_WAIT_S = 300.0

_NUMBER = re.compile(r"[+-]?\d{1,300}(?:\.\d{0,300})?")


def retry_after_s(headers: Mapping[str, str], received_at: datetime) -> float | None:
    """Seconds to wait according to `retry-after-ms` or `retry-after` (RFC 9110 §10.2.3), within [0, 300].

    A date is compared with the reply's own `date` header, because both come from the same clock; without that header
    with `received_at` (naive UTC). `None` when there is no such header or it cannot be read.
    """
    milliseconds = _number(headers.get("retry-after-ms"))
    if milliseconds is not None:
        return _clamp(milliseconds / 1000)
    value = headers.get("retry-after")
    seconds = _number(value)
    if seconds is not None:
        return _clamp(seconds)
    until = _date(value)
    if until is None:
        return None
    now = _date(headers.get("date")) or received_at.replace(tzinfo=UTC)
    return _clamp((until - now).total_seconds())


def _clamp(seconds: float) -> float:
    return min(max(seconds, 0.0), LONGEST_WAIT_S)


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
