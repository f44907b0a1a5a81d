"""Sentences about the problems of a run: as `run` and `doctor` print them, and which of them say the same."""

from __future__ import annotations

import re

_LONG_NUMBER = 2
_DIGITS_OF_ID = 4
# A name in quotes or a status, which stay; the id of a request; a time to wait, such as 7m12.5s; any other word.
_WORDS = re.compile(
    r"('[^'\s]*'|answered \d+)|[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}|\b(?:\d+(?:\.\d+)?(?:ms|[hms]))+\b|(\w+)"
)


def without_ids(text: str) -> str:
    """The text without what differs from request to request; names in quotes and statuses stay."""
    return _WORDS.sub(lambda match: match[1] or _without_id(match[2] or ""), text)


def _without_id(word: str) -> str:
    """A sign in place of the id of a request or a count, such as one of bytes; any other word stays."""
    digits = sum(map(str.isdigit, word))
    return "#" if not word or digits >= _DIGITS_OF_ID or _LONG_NUMBER <= len(word) == digits else word


def clause(text: str | None) -> str:
    """A reason without its full stop, so that a sentence can go on after it."""
    return (text or "the reason is unknown").rstrip().removesuffix(".")


def cut_speeches(model_id: str, cut: int, speeches: int) -> str:
    """How many speeches of a debater were cut off, and what can be done."""
    return (
        f"{cut:,} of {speeches:,} speeches of debater '{model_id}' {'was' if cut == 1 else 'were'} cut off at the "
        "token limit; raise its `token_limit` and the rounds' `max_tokens`, or add `thinking_tokens`."
    )
