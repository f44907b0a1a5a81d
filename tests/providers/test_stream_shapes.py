"""A streamed answer is read by the rules for a whole one, in whatever pieces it comes."""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable, Iterator
from datetime import datetime
from typing import Any

import pytest

from debatebench.providers.base import Completion, FailureKind, ProviderFailure, Reply
from debatebench.providers.openai_reply import ReplySource, read_reply

SOURCE = ReplySource("http", "A_KEY", reports_usd=True)
TEXT = "Hello, this is “one” speech.\nIt has two lines."
THOUGHT = "Let me think."
USAGE = {"prompt_tokens": 9, "completion_tokens": 14, "total_tokens": 23, "cost": 0.5}
PIECES = [TEXT[:7], TEXT[7:20], "", TEXT[20:]]


def read(body: str) -> Completion:
    return read_reply(Reply(200, body.encode(), {}, datetime(2026, 1, 2), 1.0), SOURCE, asks_for_object=True)


def as_part(text: str) -> list[dict[str, Any]]:
    return [{"type": "text", "text": text}]


def as_halves(text: str) -> list[dict[str, Any]]:
    return [{"type": "text", "text": text[:3]}, {"type": "output_text", "text": text[3:]}]


CONTENTS: dict[str, Callable[[int, str], Any]] = {
    "text": lambda _, text: text,
    "a text part": lambda _, text: as_part(text),
    "several parts": lambda _, text: as_halves(text),
    "now text, now parts": lambda number, text: as_part(text) if number % 2 else text,
}
INDEXES: dict[str, dict[str, Any]] = {"0": {"index": 0}, "null": {"index": None}, "missing": {}}
FINISHES = ("with the last text", "by itself", "with the usage")
THOUGHTS = ("none", "reasoning", "reasoning_content", "parts")
LINES: dict[str, Callable[[str], str]] = {
    "LF": lambda text: text,
    "CRLF": lambda text: text.replace("\n", "\r\n"),
    "comments and fields": lambda text: text.replace("data: ", ": ping\nevent: x\nid: 1\ndata:"),
    "byte order mark, no [DONE]": lambda text: "\ufeff" + text.replace("data: [DONE]\n\n", ""),
}
SHAPES = list(itertools.product(CONTENTS, INDEXES, FINISHES, THOUGHTS, LINES))


def chunks(content: str, index: str, finish: str, thought: str) -> Iterator[dict[str, Any]]:
    """The chunks of one answer, in a shape."""

    def chunk(delta: dict[str, Any] | None, **rest: Any) -> dict[str, Any]:
        return {"id": "gen-1", "choices": [{**INDEXES[index], "delta": delta, "finish_reason": None, **rest}]}

    yield chunk({"role": "assistant", "content": None})
    if thought == "parts":
        yield chunk({"content": [{"type": "thinking", "thinking": THOUGHT}]})
    elif thought != "none":
        yield from (chunk({thought: piece}) for piece in (THOUGHT[:5], THOUGHT[5:]))
    for number, piece in enumerate(PIECES):
        is_end = finish == "with the last text" and number == len(PIECES) - 1
        yield chunk({"content": CONTENTS[content](number, piece)}, finish_reason="stop" if is_end else None)
    if finish == "by itself":
        yield chunk({}, finish_reason="stop")
    if finish == "with the usage":
        yield chunk(None, finish_reason="stop") | {"usage": USAGE}
    else:
        yield {"id": "gen-1", "choices": [], "usage": USAGE}


def streamed(*parts: dict[str, Any]) -> str:
    return "".join(f"data: {json.dumps(part)}\n\n" for part in parts) + "data: [DONE]\n\n"


def whole(thought: str) -> str:
    message: dict[str, Any] = {"role": "assistant", "content": TEXT}
    if thought != "none":
        message["reasoning"] = THOUGHT
    choice = {"index": 0, "message": message, "finish_reason": "stop"}
    return json.dumps({"id": "gen-1", "choices": [choice], "usage": USAGE})


def test_an_answer_in_any_of_576_shapes_of_chunks_is_the_whole_answer() -> None:
    assert len(SHAPES) == 576
    for content, index, finish, thought, lines in SHAPES:
        body = LINES[lines](streamed(*chunks(content, index, finish, thought)))
        assert read(body) == read(whole(thought)), (content, index, finish, thought, lines)


@pytest.mark.parametrize("split", [1, 2, 5, 100])
@pytest.mark.parametrize("is_old", [False, True])
def test_the_arguments_of_a_call_are_put_together(split: int, *, is_old: bool) -> None:
    arguments = json.dumps({"winner": "pro", "reasons": [1, 2]})
    pieces = [arguments[n : n + split] for n in range(0, len(arguments), split)]

    def delta(piece: str) -> dict[str, Any]:
        function = {"name": "answer", "arguments": piece}
        return {"function_call": function} if is_old else {"tool_calls": [{"index": 0, "function": function}]}

    parts = [{"choices": [{"index": 0, "delta": delta(piece)}]} for piece in pieces]
    end = {"choices": [{"index": 0, "delta": {}, "finish_reason": "tool_calls"}]}
    assert read(streamed(*parts, end)).text == arguments


@pytest.mark.parametrize(
    "content",
    [7, True, {"text": "more"}, [{"type": "text", "text": {"value": "more"}}], [{"type": "text"}], [7], [["more"]]],
)
def test_a_piece_that_cannot_be_read_makes_the_answer_ambiguous_never_shorter(content: Any) -> None:
    half = {"choices": [{"index": 0, "delta": {"content": "Half "}}]}
    odd = {"choices": [{"index": 0, "delta": {"content": content}, "finish_reason": "stop"}]}
    with pytest.raises(ProviderFailure) as failed:
        read(streamed(half, odd))
    assert failed.value.kind is FailureKind.AMBIGUOUS
