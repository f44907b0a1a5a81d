"""The JSON value of a reply's body, also if it comes as server-sent events that were not requested."""

from __future__ import annotations

import codecs
import json
from collections.abc import Iterator
from decimal import Decimal
from typing import Any

import msgspec

from debatebench.shared.json_bytes import mapping, objects

_EVENT_FIELDS = (b"data:", b"event:", b"id:", b"retry:", b":")
_JOINED = ("content", "reasoning", "reasoning_content", "refusal", "text")


def load_reply(body: bytes) -> Any:
    """The value, numbers exact; `None` when it is not JSON in UTF-8, or when events end before the answer does.

    Blanks and a byte order mark before the value are ignored. Events are put together to one chat completion.
    """
    body = body.removeprefix(codecs.BOM_UTF8)
    if body.lstrip().startswith(_EVENT_FIELDS):
        return _joined(body.lstrip())
    return _load(body)


def first_choice(data: dict[str, Any]) -> dict[str, Any]:
    """The first choice of a chat completion; empty when there is none."""
    choices = data.get("choices")
    return mapping(choices[0]) if isinstance(choices, list) and choices else {}


def _joined(body: bytes) -> dict[str, Any] | None:
    """One chat completion from the chunks of a stream: texts are joined, of all else the last value counts.

    None if a text comes in a form that cannot be joined, because the answer would be shorter than it was.
    """
    whole: dict[str, Any] = {}
    choice: dict[str, Any] = {}
    texts: dict[str, list[Any]] = {}
    calls: dict[str, list[str]] = {}
    is_complete = False
    for event in _events(body):
        if event.strip() == b"[DONE]":
            is_complete = True
            break
        chunk = _load(event)
        if not isinstance(chunk, dict):
            return None
        whole.update({name: value for name, value in chunk.items() if value is not None})
        part = first_choice(chunk)
        if part.get("index") not in (None, 0):
            continue
        choice.update({name: value for name, value in part.items() if value is not None})
        delta = mapping(part.get("delta"))
        for name, value in {**part, **delta}.items():
            if name in _JOINED and value is not None:
                if not isinstance(value, str | list):
                    return None
                texts.setdefault(name, []).append(value)
        for call in [*objects(delta.get("tool_calls")), {"function": delta.get("function_call")}]:
            arguments = mapping(call.get("function")).get("arguments")
            if isinstance(arguments, str):
                calls.setdefault(str(call.get("index")), []).append(arguments)
    if not (is_complete or choice.get("finish_reason") or whole.get("error")):
        return None
    # A last chunk may hold the whole message beside its delta.
    message: dict[str, Any] = {name: _together(pieces) for name, pieces in texts.items()}
    if calls:
        message["tool_calls"] = [{"function": {"arguments": "".join(parts)}} for parts in calls.values()]
    message |= mapping(choice.get("message"))
    choice = {name: value for name, value in choice.items() if name not in ("delta", "text")}
    return {**whole, "choices": [{**choice, "message": {"content": message.pop("text", None), **message}}]}


def _together(pieces: list[Any]) -> Any:
    """Texts as one text; if some are lists of parts, as one list of parts."""
    if all(isinstance(piece, str) for piece in pieces):
        return "".join(pieces)
    return [part for piece in pieces for part in (piece if isinstance(piece, list) else [piece])]


def _events(body: bytes) -> Iterator[bytes]:
    """The data of each server-sent event: https://html.spec.whatwg.org/multipage/server-sent-events.html."""
    lines: list[bytes] = []
    for line in [*body.splitlines(), b""]:
        if line.startswith(b"data:"):
            lines.append(line[5:].removeprefix(b" "))
        elif not line and lines:
            yield b"\n".join(lines)
            lines = []


def _load(body: bytes) -> Any:
    try:
        return _DECODE(body)
    except (ValueError, RecursionError):
        return _load_slowly(body)


def _load_slowly(body: bytes) -> Any:
    """The same, also for input that only the standard library accepts: lone surrogates, `NaN`, any number of digits."""
    try:
        return json.loads(body.decode("utf-8"), parse_float=_exact, parse_int=_whole, parse_constant=Decimal)
    except (ValueError, RecursionError):
        return None


def _whole(text: str) -> int | Decimal:
    """The number as written; NaN if it has more digits than Python converts."""
    try:
        return int(text)
    except ValueError:
        return Decimal("NaN")


def _exact(text: str) -> Decimal:
    """The number as written; NaN if it is outside the range of a decimal."""
    try:
        return Decimal(text)
    except ArithmeticError:
        return Decimal("NaN")


_DECODE = msgspec.json.Decoder(float_hook=_exact).decode
