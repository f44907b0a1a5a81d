"""JSON as bytes: ASCII on the way out, and read as the standard library reads it, several times faster."""

from __future__ import annotations

import json
import math
from json.encoder import encode_basestring_ascii
from typing import Any

import msgspec

__all__ = ["from_json", "quoted", "to_json"]

_ENCODE = msgspec.json.Encoder().encode
_DECODE = msgspec.json.Decoder().decode
_ENCODE_STRICTLY = json.JSONEncoder(separators=(",", ":"), allow_nan=False).encode


def to_json(value: Any) -> bytes:
    """`value` on one line of ASCII without blanks. Raises `ValueError` for numbers that JSON has not: NaN, infinity."""
    try:
        text = _ENCODE(value)
    except UnicodeEncodeError:
        # A lone surrogate has an escape, but no UTF-8.
        return _ENCODE_STRICTLY(value).encode("ascii")
    # Such a number would be written as null.
    if text.isascii() and (b"null" not in text or _is_finite(value)):
        return text
    return _ENCODE_STRICTLY(value).encode("ascii")


def from_json(text: bytes) -> Any:
    """The value of a JSON text in UTF-8. Raises `ValueError` where it is none, `RecursionError` when it is too deep."""
    try:
        return _DECODE(text)
    except ValueError:
        # Lone surrogates and NaN, which the standard library takes.
        return json.loads(text)


def quoted(text: str) -> str:
    """`text` as a JSON string, letter by letter as `json.dumps` writes it."""
    # Of ASCII, DEL alone is written in another way.
    if text.isascii() and "\x7f" not in text:
        return _ENCODE(text).decode("ascii")
    return encode_basestring_ascii(text)


def _is_finite(value: Any) -> bool:
    """Whether all numbers in a JSON value are finite."""
    if isinstance(value, dict):
        return all(map(_is_finite, value.values()))
    if isinstance(value, list | tuple):
        return all(map(_is_finite, value))
    return not isinstance(value, float) or math.isfinite(value)
