"""Foreign JSON → plain data, read strictly: text that two readers could read differently is refused."""

from __future__ import annotations

import json
import math
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NoReturn

from debatebench.landing.importers.base import BadSourceError
from debatebench.shared.records import clean_text

LARGEST_RECORD = 64 * 1024 * 1024
"""Bytes of one line or one file of a record."""

_DEEPEST_NESTING = 64
_BOM = b"\xef\xbb\xbf"


def json_lines(path: Path) -> Iterator[tuple[int, bytes]]:
    """Number (from 1) and bytes of every line that is not blank; a line that is too long is cut, and refused later."""
    return ((number, line) for number, line in lines_between(path, 0, sys.maxsize) if line.strip())


def lines_between(path: Path, start: int, stop: int) -> Iterator[tuple[int, bytes]]:
    """Number (from 1) and bytes of every line that begins at or after offset `start` and before `stop`.

    A line must begin at `start`. A line that is too long is cut, and a byte-order mark is left out.
    """
    with path.open("rb") as file:
        offset = file.seek(start)
        number = 0
        while offset < stop and (line := file.readline(LARGEST_RECORD + 1)):
            number += 1
            yield number, line if offset else line.removeprefix(_BOM)
            offset += len(line)
            while len(line) > LARGEST_RECORD and not line.endswith(b"\n"):
                line = file.readline(LARGEST_RECORD + 1)
                offset += len(line)


def read_bytes(path: Path) -> bytes:
    """A whole file without its byte-order mark; a file that is too long is cut, and refused later."""
    with path.open("rb") as file:
        return file.read(LARGEST_RECORD + 1).removeprefix(_BOM)


def parse_json(text: bytes) -> Any:
    """One JSON value with lone surrogates replaced.

    Raises `BadSourceError` for text that is not JSON or not UTF-8, repeated keys, NaN and infinity (also `1e999`),
    nesting beyond 64 levels, numbers with thousands of digits, and records beyond `LARGEST_RECORD` bytes.
    """
    if len(text) > LARGEST_RECORD:
        raise BadSourceError(f"It is longer than {LARGEST_RECORD:,} bytes.")
    try:
        value = _DECODER.decode(text.decode("utf-8"))
    except UnicodeDecodeError as error:
        raise BadSourceError(f"Byte {error.start + 1} is not UTF-8.") from error
    except json.JSONDecodeError as error:
        line = f"line {error.lineno}, " if error.lineno > 1 else ""
        problem = error.msg.removesuffix(" at")
        raise BadSourceError(f"It is not JSON: {problem} at {line}character {error.colno}.") from error
    except RecursionError as error:
        raise _too_deep() from error
    except ValueError as error:
        raise BadSourceError("A number has too many digits.") from error
    # There cannot be more levels than opening brackets, and counting those is cheap.
    if text.count(b"{") + text.count(b"[") > _DEEPEST_NESTING:
        _refuse_deep_nesting(value)
    # Decoded UTF-8 holds no surrogates, so they can only come from escapes.
    return _without_surrogates(value) if b"\\ud" in text or b"\\uD" in text else value


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    value = dict(pairs)
    if len(value) != len(pairs):
        counts = Counter(key for key, _ in pairs)
        twice = counts.most_common(1)[0][0]
        raise BadSourceError(f"The key {twice[:60]!r} occurs twice in one object.")
    return value


def _constant(text: str) -> NoReturn:
    raise BadSourceError(f"{text} is not a number.")


def _float(text: str) -> float:
    value = float(text)
    if not math.isfinite(value):
        raise BadSourceError(f"{text[:60]} is too large for a number.")
    return value


_DECODER = json.JSONDecoder(object_pairs_hook=_object, parse_constant=_constant, parse_float=_float)


def _too_deep() -> BadSourceError:
    return BadSourceError(f"It nests deeper than {_DEEPEST_NESTING} levels.")


def _refuse_deep_nesting(value: Any) -> None:
    level = [value]
    for _ in range(_DEEPEST_NESTING):
        level = [
            inner
            for outer in level
            for inner in (outer.values() if isinstance(outer, dict) else outer)
            if isinstance(inner, dict | list)
        ]
        if not level:
            return
    raise _too_deep()


def _without_surrogates(value: Any) -> Any:
    def clean(value: Any) -> Any:
        if isinstance(value, str):
            return clean_text(value)
        if isinstance(value, dict):
            return _object([(clean_text(key), clean(inner)) for key, inner in value.items()])
        return [clean(inner) for inner in value] if isinstance(value, list) else value

    return clean(value)
