"""Removes keys: text and bytes that may hold one pass through here before they are kept or shown."""

from __future__ import annotations

import re
from collections.abc import Iterable

__all__ = ["REDACTED", "excerpt", "without_keys", "without_keys_in_bytes"]

REDACTED = "[redacted]"
_LONGEST_EXCERPT = 200
# The end of a cut body may be the beginning of a key; fewer characters than this reveal nothing.
_SHORTEST_TELLING_PREFIX = 4

_KEY_LIKE = re.compile(
    r"\b(?:sk|pk|rk|ak|gsk|hf|xai|pplx|nvapi|r8|tgp|fw|ghp|glpat|api|key)[-_][\w*.-]{6,}"
    r"|\bAIza[\w-]{16,}"
    r"|\b(?:Bearer|Basic)\s+\S+"
    r"|\b(?=[\w+/=.-]*[A-Za-z])(?=[\w+/=.-]*\d)[\w+/=.-]{40,}",
    re.IGNORECASE,
)


def without_keys(text: str, keys: Iterable[str] = ()) -> str:
    """Return `text` with the given keys, and anything that looks like a key, replaced by `[redacted]`."""
    for key in keys:
        text = text.replace(key, REDACTED)
    return _KEY_LIKE.sub(REDACTED, text)


def without_keys_in_bytes(data: bytes, keys: Iterable[str], *, is_cut: bool = False) -> bytes:
    """Return `data` with the given keys replaced; in a cut body, also a key that was cut at the end.

    Text that merely looks like a key stays, because a raw body is evidence and an answer may contain such text.
    """
    for key in keys:
        secret = key.encode()
        data = data.replace(secret, REDACTED.encode())
        for length in range(len(secret) - 1, _SHORTEST_TELLING_PREFIX - 1, -1) if is_cut else ():
            if data.endswith(secret[:length]):
                data = data[:-length] + REDACTED.encode()
                break
    return data


def excerpt(text: str, keys: Iterable[str] = ()) -> str:
    """A provider's message for an error message: one printable line without keys, at most 200 characters."""
    line = " ".join("".join(c if c.isprintable() else " " for c in without_keys(text[:10_000], keys)).split())
    return line if len(line) <= _LONGEST_EXCERPT else line[: _LONGEST_EXCERPT - 1] + "…"
