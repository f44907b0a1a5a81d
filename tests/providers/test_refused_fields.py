"""Optional fields that a server refuses are recognised in the words of each provider, and nothing else is."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from debatebench.providers.refused_fields import ADJUSTMENTS, adjusted_body, refused_field

SYSTEM = {"role": "system", "content": "Argue."}
USER = {"role": "user", "content": "Speak."}
BODY: dict[str, Any] = {
    "model": "m",
    "messages": [SYSTEM, USER],
    "temperature": 0.7,
    "max_tokens": 90,
    "seed": 7,
    "response_format": {"type": "json_schema"},
}


def openai(message: str, **error: Any) -> dict[str, Any]:
    return {"error": {"message": message, "type": "invalid_request_error", **error}}


REFUSALS: dict[str, tuple[int, Any, str]] = {
    "OpenAI, a value": (
        400,
        openai(
            "Unsupported value: 'temperature' does not support 0.0 with this model. Only the default (1) value is "
            "supported.",
            param="temperature",
            code="unsupported_value",
        ),
        "temperature",
    ),
    "OpenAI, a parameter": (
        400,
        openai(
            "Unsupported parameter: 'max_tokens' is not supported with this model. Use "
            "'max_completion_tokens' instead.",
            param="max_tokens",
            code="unsupported_parameter",
        ),
        "max_tokens",
    ),
    "OpenAI, a schema": (
        400,
        openai("Invalid schema for response_format 'answer': In context=(), 'x'.", param="response_format", code=None),
        "response_format",
    ),
    "OpenAI, the first o1": (
        400,
        openai(
            "Unsupported value: 'messages[0].role' does not support 'system' with this model.",
            param="messages[0].role",
            code="unsupported_value",
        ),
        "system",
    ),
    "Gemini": (
        400,
        [
            {
                "error": {
                    "code": 400,
                    "message": 'Invalid JSON payload received. Unknown name "seed": Cannot find field.',
                    "status": "INVALID_ARGUMENT",
                    "details": [{"fieldViolations": [{"description": 'Unknown name "seed": Cannot find field.'}]}],
                }
            }
        ],
        "seed",
    ),
    "Mistral": (
        422,
        {
            "object": "error",
            "message": {
                "detail": [
                    {
                        "type": "extra_forbidden",
                        "loc": ["body", "seed"],
                        "msg": "Extra inputs are not permitted",
                        "input": 7,
                    }
                ]
            },
            "type": "invalid_request_error",
        },
        "seed",
    ),
    "Anthropic, temperature": (
        400,
        {
            "error": {
                "code": "invalid_request_error",
                "message": "temperature is deprecated for this model",
                "type": "invalid_request_error",
            }
        },
        "temperature",
    ),
    "Anthropic through OpenRouter": (
        400,
        {
            "error": {
                "message": "Provider returned error",
                "code": 400,
                "metadata": {
                    "raw": json.dumps(
                        {
                            "type": "error",
                            "error": {
                                "type": "invalid_request_error",
                                "message": "output_format.schema: For 'integer' type, properties maximum, minimum are "
                                "not supported",
                            },
                        }
                    ),
                    "provider_name": "Anthropic",
                },
            }
        },
        "response_format",
    ),
    "Cerebras": (
        400,
        {
            "message": "Unsupported JSON schema fields: {'minimum'}",
            "type": "invalid_request_error",
            "code": "wrong_api",
        },
        "response_format",
    ),
    "DeepSeek": (400, openai("This response_format type is unavailable now"), "response_format"),
    "Moonshot": (400, openai("invalid temperature: only 1 is allowed for this model"), "temperature"),
    "LiteLLM": (
        400,
        openai(
            "litellm.UnsupportedParamsError: anthropic does not support parameters: ['seed'], for model=claude. To "
            "drop these, set `litellm.drop_params=True`.",
            code="400",
        ),
        "seed",
    ),
    "vLLM": (400, {"object": "error", "message": "System role not supported", "code": 400}, "system"),
    "vLLM, a template": (
        400,
        {
            "object": "error",
            "message": "Conversation roles must alternate user/assistant/user/assistant/...",
            "code": 400,
        },
        "system",
    ),
    "Gemma at Gemini": (400, [openai("Developer instruction is not enabled for models/gemma-3-27b-it")], "system"),
    "llama.cpp, a model": (400, openai("Failed to initialize samplers: std::exception", code=400), "response_format"),
    "llama.cpp, a schema": (
        400,
        openai(
            "Unable to generate parser for this template. Automatic parser generation failed: JSON schema error at #: "
            "unrecognized type x",
            code=400,
        ),
        "response_format",
    ),
    "llama-cpp-python": (
        422,
        {
            "detail": [
                {
                    "type": "literal_error",
                    "loc": ["body", "response_format", "type"],
                    "msg": "Input should be 'text' or 'json_object'",
                    "input": "json_schema",
                }
            ]
        },
        "response_format",
    ),
}


@pytest.mark.parametrize("provider", REFUSALS)
def test_a_refused_field_is_recognised_once(provider: str) -> None:
    status, error, field = REFUSALS[provider]
    reply = json.dumps(error).encode()
    assert refused_field(status, reply, BODY, ()) == field
    assert refused_field(status, reply, BODY, {field}) is None
    assert refused_field(500, reply, BODY, ()) is None


@pytest.mark.parametrize(
    "error",
    [
        openai("max_tokens is too large: 90000. This model supports at most 4096.", param="max_tokens", code="invalid"),
        openai("temperature must be between 0 and 1", param="temperature", code="invalid_value"),
        openai("This model's maximum context length is 8192 tokens.", param="messages", code="context_length_exceeded"),
        openai("Failed to validate JSON.", code="json_validate_failed", failed_generation='{"seed": "not supported"}'),
        openai("Requests with max_tokens > 4096 must have stream=true"),
        openai(
            "request (20054 tokens) exceeds the available context size (16384 tokens), try increasing it",
            type="exceed_context_size_error",
        ),
        openai("The model `m` does not exist or is not available to you.", code="model_not_found"),
        openai("Unknown parameter: 'top_z'.", param="top_z", code="unknown_parameter"),
        {"detail": [{"type": "less_than_equal", "loc": ["body", "temperature"], "msg": "Input should be less than 2"}]},
        {"detail": [{"type": "extra_forbidden", "loc": ["body", "user"], "msg": "Extra inputs", "input": "seed"}]},
    ],
)
def test_other_complaints_adjust_nothing(error: dict[str, Any]) -> None:
    assert refused_field(400, json.dumps(error).encode(), BODY, ()) is None


def test_a_field_that_was_not_sent_is_not_adjusted() -> None:
    reply = json.dumps(REFUSALS["LiteLLM"][1]).encode()
    assert refused_field(400, reply, {"model": "m", "messages": [USER]}, ()) is None


def test_the_field_that_stands_first_is_the_refused_one() -> None:
    reply = json.dumps(openai("Unsupported parameter: seed. Supported: temperature, max_tokens.")).encode()
    assert refused_field(400, reply, BODY, ()) == "seed"


@pytest.mark.parametrize(
    ("field", "changes"),
    [
        ("temperature", {"temperature": None}),
        ("seed", {"seed": None}),
        ("response_format", {"response_format": None}),
        ("max_tokens", {"max_tokens": None, "max_completion_tokens": 90}),
        ("system", {"messages": [{"role": "user", "content": "Argue.\n\nSpeak."}]}),
    ],
)
def test_an_adjusted_request_differs_in_one_field(field: str, changes: dict[str, Any]) -> None:
    wanted = {name: value for name, value in {**BODY, **changes}.items() if value is not None}
    assert adjusted_body(BODY, {field}) == wanted
    assert BODY["messages"] == [SYSTEM, USER]


def test_system_text_without_a_user_message_becomes_one() -> None:
    assert adjusted_body({"messages": [SYSTEM]}, {"system"}) == {"messages": [{"role": "user", "content": "Argue."}]}


@given(st.sets(st.sampled_from(sorted(ADJUSTMENTS))), st.sampled_from(sorted(REFUSALS)))
def test_no_reply_asks_for_an_adjustment_twice(adjusted: set[str], provider: str) -> None:
    status, error, _ = REFUSALS[provider]
    again = refused_field(status, json.dumps(error).encode(), BODY, adjusted)
    assert again is None or again not in adjusted


@given(st.recursive(st.none() | st.text() | st.integers(), lambda c: st.lists(c) | st.dictionaries(st.text(), c)))
def test_any_body_can_be_read(error: Any) -> None:
    reply = json.dumps(error).encode()
    assert refused_field(400, reply, BODY, ()) is None or error
    assert refused_field(400, reply[:-1], BODY, ()) is None or error
