"""An object that stands elsewhere in a reply than in its text is read where an object is asked for, and only there."""

from __future__ import annotations

import json
from collections.abc import Iterable
from datetime import datetime
from typing import Any

import pytest
from fake_provider import completion_body

from debatebench.config.answer_form import AnswerForm
from debatebench.config.types import DimensionConfig
from debatebench.judges.answer_json import InvalidVerdictError
from debatebench.judges.parsing import parse_answer
from debatebench.providers.base import Completion, FailureKind, Message, ProviderFailure, Reply, Request
from debatebench.providers.openai_reply import ReplySource, read_reply
from debatebench.providers.requests import HINTS, asks_for_object

VERDICT = '{"scores": {"pro": {"logic": 8.10}}, "winner": "pro"}'
SOURCE = ReplySource("http", keys=("sk-canary-1",))


def reply(body: Any) -> Reply:
    data = body if isinstance(body, bytes) else json.dumps(body).encode()
    return Reply(200, data, {"content-type": "application/json"}, datetime(2026, 1, 1), 1.0)


def message(**fields: Any) -> dict[str, Any]:
    return completion_body(None, message=fields, choice={"finish_reason": "tool_calls"})


def call(arguments: Any, **fields: Any) -> dict[str, Any]:
    return {"id": "t", "type": "function", "function": {"name": "verdict", "arguments": arguments}, **fields}


def read(body: Any, *, asks_for_object: bool = True) -> Completion:
    return read_reply(reply(body), SOURCE, asks_for_object=asks_for_object)


def kind_of_failure(body: Any, *, asks_for_object: bool = True) -> FailureKind:
    with pytest.raises(ProviderFailure) as caught:
        read(body, asks_for_object=asks_for_object)
    return caught.value.kind


def with_content(json_text: str) -> bytes:
    """A body whose content is this piece of JSON, as it is written."""
    return json.dumps(completion_body("@")).replace('"@"', json_text).encode()


def stream(deltas: Iterable[dict[str, Any]], finish_reason: str = "tool_calls") -> bytes:
    """Server-sent events with these deltas."""
    chunks = [{"id": "a", "choices": [{"index": 0, "delta": delta}]} for delta in deltas]
    chunks[-1]["choices"][0]["finish_reason"] = finish_reason  # type: ignore[index]
    return b"".join(b"data: " + json.dumps(chunk).encode() + b"\n\n" for chunk in chunks) + b"data: [DONE]\n\n"


def in_pieces(index: int, text: str) -> list[dict[str, Any]]:
    """The deltas of one tool call: its name first, then its arguments, a few characters at a time."""
    first = {"index": index, "id": f"t{index}", "function": {"name": "verdict", "arguments": ""}}
    pieces = [{"index": index, "function": {"arguments": text[n : n + 7]}} for n in range(0, len(text), 7)]
    return [{"tool_calls": [each]} for each in (first, *pieces)]


@pytest.mark.parametrize(
    "body",
    [
        message(tool_calls=[call(VERDICT)]),
        message(tool_calls=[call(VERDICT)], content=""),
        message(tool_calls=[call(VERDICT)], content="\n "),
        message(tool_calls=[call(VERDICT)], content=[]),
        message(tool_calls=[call(VERDICT)], content=[{"type": "text", "text": ""}]),
        message(tool_calls=[call(VERDICT)], reasoning_content="Pro had figures."),
        message(function_call={"name": "verdict", "arguments": VERDICT}),
        json.dumps(message(tool_calls=[call("@")])).replace('"@"', VERDICT).encode(),
        json.dumps(message(function_call={"name": "verdict", "arguments": "@"})).replace('"@"', VERDICT).encode(),
        with_content(VERDICT),
        b"\xef\xbb\xbf" + with_content(VERDICT),
        stream(in_pieces(0, VERDICT)),
        stream([{"function_call": {"name": "verdict"}}, {"function_call": {"arguments": VERDICT}}]),
    ],
    ids=[
        "tool call", "empty content", "blank content", "no parts", "empty part", "thinking beside", "function call",
        "arguments as an object", "function call with an object", "content as an object", "byte order mark", "stream",
        "stream of a function call",
    ],
)  # fmt: skip
def test_the_only_object_of_a_reply_without_text_is_its_answer(body: Any) -> None:
    said = read(body)
    assert said.text == VERDICT
    assert said.is_moved


@pytest.mark.parametrize(
    "parts",
    [
        f"[{VERDICT}]",
        f'[{{"type": "thinking", "thinking": "Hm."}}, {VERDICT}]',
        f'[{{"type": "tool_use", "name": "verdict", "input": {VERDICT}}}]',
        f'[{{"type": "text", "text": " "}}, {{"type": "tool_use", "name": "verdict", "input": {VERDICT}}}]',
    ],
    ids=["object", "after thinking", "tool use", "after blank text"],
)
def test_an_object_among_the_parts_of_the_content_is_the_answer(parts: str) -> None:
    said = read(with_content(parts))
    assert VERDICT in said.text
    assert said.is_moved


def test_an_object_is_read_as_it_is_written() -> None:
    """Decoded and written again, a key that comes twice would come once, and 8.10 would be 8.1."""
    odd = '{"a": 1, "a": 2, "b": 8.10, "c": 1e400, "d": "\\u00e9"}'
    assert read(with_content(odd)).text == odd


@pytest.mark.parametrize(
    "body",
    [
        message(tool_calls=[call(VERDICT), call(VERDICT)]),
        message(tool_calls=[call(VERDICT), call("{}")]),
        json.dumps(message(tool_calls=[call(VERDICT)], content="@")).replace('"@"', VERDICT).encode(),
        with_content(f"[{VERDICT}, {VERDICT}]"),
        with_content('[{"type": "thinking", "thinking": "Hm."}]'),
        message(tool_calls=[]),
        message(tool_calls=[call("")]),
        message(tool_calls=[call(None)]),
        message(tool_calls=[call(7)]),
        message(tool_calls="x", function_call="y"),
        message(tool_calls=[None, "x"]),
        message(),
        stream([*in_pieces(0, VERDICT), *in_pieces(1, VERDICT)]),
        with_content('{"a": "\\u0073k-canary-1"}'),
    ],
    ids=[
        "two calls", "two that differ", "content and call", "two objects", "thinking only", "no call", "no arguments",
        "null", "number", "odd types", "no objects", "nothing", "two calls in a stream", "a key in it",
    ],
)  # fmt: skip
def test_no_object_or_several_are_an_empty_answer(body: Any) -> None:
    assert kind_of_failure(body) is FailureKind.EMPTY


@pytest.mark.parametrize("body", [message(tool_calls=[call(VERDICT)]), with_content(VERDICT)])
def test_a_speech_is_never_taken_from_a_tool_call_or_an_object(body: Any) -> None:
    assert kind_of_failure(body, asks_for_object=False) is FailureKind.EMPTY


def test_text_counts_before_a_tool_call() -> None:
    said = read(message(content="Pro.", tool_calls=[call(VERDICT)]))
    assert (said.text, said.is_moved) == ("Pro.", False)


def test_a_refusal_or_an_error_counts_before_a_tool_call() -> None:
    assert kind_of_failure(message(tool_calls=[call(VERDICT)], refusal="I will not.")) is FailureKind.REFUSED
    filtered = message(tool_calls=[call(VERDICT)])
    filtered["choices"][0]["finish_reason"] = "content_filter"
    assert kind_of_failure(filtered) is FailureKind.REFUSED


@pytest.mark.parametrize("depth", [*range(100, 2000, 100), 5000, 100_000])
def test_an_object_of_any_depth_is_read_or_fails_as_a_reply(depth: int) -> None:
    nested = '{"a":' * depth + "1" + "}" * depth
    for body in (with_content(nested), message(tool_calls=[call(nested)])):
        try:
            said = read(body)
        except ProviderFailure:
            continue
        assert said.text == nested
        with pytest.raises(InvalidVerdictError):
            parse_answer(said.text, AnswerForm({"logic": DimensionConfig(min=1, max=10)}))


def test_a_request_for_an_object_is_known_by_its_schema_or_its_hints() -> None:
    messages = (Message("user", "Judge."),)
    assert asks_for_object(Request("m", messages, json_schema={"type": "object"}))
    assert asks_for_object(Request("m", messages, parameters={HINTS: {"task": "verdict"}}))
    assert not asks_for_object(Request("m", messages, parameters={HINTS: {"task": "speech"}}))
    assert not asks_for_object(Request("m", messages))
