"""Keys must not be written anywhere: what may hold one goes through here before it is kept or shown."""

from __future__ import annotations

import re
from collections.abc import Iterable

__all__ = ["REDACTED", "excerpt", "without_keys", "without_keys_in_bytes"]

REDACTED = "[redacted]"
_LONGEST_EXCERPT = 200
# The end of a cut body may be the beginning of a key; fewer characters than this give nothing away.
_SHORTEST_TELLING_PREFIX = 4

_KEY_LIKE = re.compile(
    r"\b(?:sk|pk|rk|ak|gsk|hf|xai|pplx|nvapi|r8|tgp|fw|ghp|glpat|api|key)[-_][\w*.-]{6,}"
    r"|\bAIza[\w-]{16,}"
    r"|\b(?:Bearer|Basic)\s+\S+"
    r"|\b(?=[\w+/=.-]*[A-Za-z])(?=[\w+/=.-]*\d)[\w+/=.-]{40,}",
    re.IGNORECASE,
)


def without_keys(text: str, keys: Iterable[str] = ()) -> str:
    """Return `text` with the given keys, and whatever looks like a key, replaced by `[redacted]`."""
    for key in keys:
        text = text.replace(key, REDACTED)
    return _KEY_LIKE.sub(REDACTED, text)


def without_keys_in_bytes(data: bytes, keys: Iterable[str], *, is_cut: bool = False) -> bytes:
    """Return `data` with the given keys replaced; of a cut body, also a key that was cut at the end.

    What merely looks like a key stays, because a raw body is evidence and an answer may speak of anything.
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
    """A provider's words for an error message: one printable line without keys, at most 200 characters."""
    line = " ".join("".join(c if c.isprintable() else " " for c in without_keys(text[:10_000], keys)).split())
    return line if len(line) <= _LONGEST_EXCERPT else line[: _LONGEST_EXCERPT - 1] + "…"
