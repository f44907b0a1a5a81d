"""A JSON answer that stands elsewhere than in the text of a reply: in a tool call, or as an object instead of text."""

from __future__ import annotations

import codecs
from typing import Any

import msgspec

from debatebench.providers.reply_json import first_choice
from debatebench.shared.json_bytes import mapping, objects

# The types of parts that are an object; a text or a thought is none.
_OBJECTS = (None, "tool_use")


class _Function(msgspec.Struct):
    arguments: msgspec.Raw = msgspec.Raw(b"")


class _Call(msgspec.Struct):
    function: _Function | None = None


class _Message(msgspec.Struct):
    content: msgspec.Raw = msgspec.Raw(b"")
    tool_calls: list[_Call] | None = None
    function_call: _Function | None = None

    def arguments(self) -> msgspec.Raw:
        """The arguments of the only call."""
        functions = [call.function for call in self.tool_calls or ()] or [self.function_call]
        return next(function.arguments for function in functions if function)


class _Choice(msgspec.Struct):
    message: _Message


class _Body(msgspec.Struct):
    choices: list[_Choice]


def moved_answer(data: dict[str, Any], body: bytes) -> str | None:
    """The text of the only object that the message of a reply without text holds; None if it holds none or more.

    The text is that of the body, so that a key that comes twice, which `data` has once, is seen by those who read it.
    """
    message = mapping(first_choice(data).get("message"))
    content = message.get("content")
    parts: list[Any] = content if isinstance(content, list) else [content]
    places = [n for n, part in enumerate(parts) if isinstance(part, dict) and part.get("type") in _OBJECTS]
    calls = objects(message.get("tool_calls")) or [{"function": message.get("function_call")}]
    functions = [function for call in calls if (function := mapping(call.get("function")))]
    if len(places) + len(functions) != 1:
        return None
    arguments = functions[0].get("arguments") if functions else content
    if isinstance(arguments, str):
        return arguments
    if not isinstance(arguments, dict | list):
        return None
    try:
        said = msgspec.json.decode(body.removeprefix(codecs.BOM_UTF8), type=_Body).choices[0].message
        if functions:
            raw = said.arguments()
        elif isinstance(content, list):
            raw = msgspec.json.decode(said.content, type=list[msgspec.Raw])[places[0]]
        else:
            raw = said.content
        return bytes(raw).decode("utf-8")
    except (msgspec.MsgspecError, UnicodeDecodeError):
        # It is not in UTF-8 or not of this shape.
        return None
