"""JSON as bytes: written as ASCII, and read with the standard library's results but several times faster.

`mapping` and `objects` take from a JSON value what is of the expected kind.
"""

from __future__ import annotations

import json
import math
from json.encoder import encode_basestring_ascii
from typing import Any

import msgspec

_ENCODE = msgspec.json.Encoder().encode
_DECODE = msgspec.json.Decoder().decode
_LOOK_OVER = msgspec.json.Decoder(msgspec.Raw).decode
_ENCODE_SORTED_SLOWLY = json.JSONEncoder(sort_keys=True, separators=(",", ":")).encode
_ENCODE_SORTED = msgspec.json.Encoder(order="sorted").encode
_WRITTEN_ALIKE = frozenset({str, int, bool, type(None)})
_ENCODE_STRICTLY = json.JSONEncoder(separators=(",", ":"), allow_nan=False).encode


def to_json(value: Any) -> bytes:
    """`value` on one line of ASCII without blanks. Raises `ValueError` for NaN and infinity, which JSON lacks."""
    try:
        text = _ENCODE(value)
    except UnicodeEncodeError:
        # A lone surrogate can be escaped, but has no UTF-8 encoding.
        return _ENCODE_STRICTLY(value).encode("ascii")
    # NaN and infinity would be written as null.
    if text.isascii() and (b"null" not in text or _is_finite(value)):
        return text
    return _ENCODE_STRICTLY(value).encode("ascii")


def from_json(text: bytes) -> Any:
    """The value of a JSON text in UTF-8. Raises `ValueError` for invalid JSON, `RecursionError` for deep nesting."""
    try:
        return _DECODE(text)
    except ValueError:
        # The standard library accepts lone surrogates and NaN.
        return json.loads(text)


def is_json(text: bytes) -> bool:
    """Whether `from_json` can read the text; builds no values, so it takes a tenth of the time."""
    try:
        _LOOK_OVER(text)
    except ValueError:
        try:
            json.loads(text)
        except ValueError:
            return False
    return True


def json_string(text: str) -> str:
    """`text` as a JSON string, character for character as `json.dumps` writes it."""
    # DEL is the only ASCII character that is written differently.
    if text.isascii() and "\x7f" not in text:
        return _ENCODE(text).decode("ascii")
    return encode_basestring_ascii(text)


def sorted_json(value: Any) -> str:
    """JSON with sorted keys, character for character as `json.dumps` writes it, and usually much faster."""
    try:
        text = _ENCODE_SORTED(value)
    except (TypeError, ValueError, OverflowError, RecursionError):
        return _ENCODE_SORTED_SLOWLY(value)
    # DEL is the only ASCII character that is written differently.
    is_same = text.isascii() and b"\x7f" not in text and _is_plain(value)
    return text.decode("ascii") if is_same else _ENCODE_SORTED_SLOWLY(value)


def _is_finite(value: Any) -> bool:
    """Whether all numbers in a JSON value are finite."""
    if isinstance(value, dict):
        return all(map(_is_finite, value.values()))
    if isinstance(value, list | tuple):
        return all(map(_is_finite, value))
    return not isinstance(value, float) or math.isfinite(value)


def _is_plain(value: Any) -> bool:
    """Whether every library writes the JSON value the same way: no exponent, no infinity, text as keys."""
    values = [value]
    for each in values:
        kind = type(each)
        if kind in _WRITTEN_ALIKE:
            continue
        if kind is dict:
            for key in each:
                if type(key) is not str:
                    return False
            values += each.values()
        elif kind is list or kind is tuple:
            values += each
        elif kind is not float or not (each == 0 or 1e-4 <= abs(each) < 1e16):
            return False
    return True


def mapping(value: Any) -> dict[str, Any]:
    """The value if it is an object, else an empty one."""
    return value if isinstance(value, dict) else {}


def objects(value: Any) -> list[dict[str, Any]]:
    """The objects in a list; none if the value is not a list."""
    return [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []
