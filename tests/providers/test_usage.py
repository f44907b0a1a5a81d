"""Tokens as providers report them: every spelling, what is impossible, and what is kept beside it."""

from __future__ import annotations

import json
from datetime import datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from debatebench.providers.base import Reply
from debatebench.providers.openai_reply import ReplySource, read_reply
from debatebench.providers.reply_json import load_reply
from debatebench.providers.usage import Usage, read_usage


def used(usage: Any, *, is_generated: bool = True, place: str = "usage") -> Usage:
    """The usage of a body in which `usage` stands at its place."""
    return read_usage(load_reply(json.dumps({place: usage}).encode()), is_generated=is_generated)


def counts(prompt: Any = None, completion: Any = None, total: Any = None, **rest: Any) -> dict[str, Any]:
    return {"prompt_tokens": prompt, "completion_tokens": completion, "total_tokens": total, **rest}


def halves(usage: Usage) -> tuple[int | None, ...]:
    return usage.prompt_tokens, usage.completion_tokens, usage.total_tokens


def parts(usage: Usage) -> tuple[int | None, ...]:
    return usage.cached_tokens, usage.cache_write_tokens, usage.reasoning_tokens


# --- spellings


SPELLINGS = {
    "OpenAI": (
        counts(
            2006,
            300,
            2306,
            prompt_tokens_details={"cached_tokens": 1920, "audio_tokens": 0},
            completion_tokens_details={"reasoning_tokens": 128, "accepted_prediction_tokens": 0},
        ),
        (2006, 300, 2306),
        (1920, None, 128),
    ),
    "OpenRouter": (
        counts(2006, 300, 2306, prompt_tokens_details={"cached_tokens": 900, "cache_write_tokens": 1000}),
        (2006, 300, 2306),
        (900, 1000, None),
    ),
    "OpenAI Responses": (
        {
            "input_tokens": 2006,
            "output_tokens": 300,
            "total_tokens": 2306,
            "input_tokens_details": {"cached_tokens": 1920},
            "output_tokens_details": {"reasoning_tokens": 128},
        },
        (2006, 300, 2306),
        (1920, None, 128),
    ),
    "Anthropic Messages": (
        {
            "input_tokens": 6,
            "cache_read_input_tokens": 1800,
            "cache_creation_input_tokens": 200,
            "cache_creation": {"ephemeral_5m_input_tokens": 200, "ephemeral_1h_input_tokens": 0},
            "output_tokens": 300,
        },
        (2006, 300, 2306),
        (1800, 200, None),
    ),
    "Anthropic Messages without a cache": (
        {"input_tokens": 6, "cache_read_input_tokens": 0, "cache_creation_input_tokens": 0, "output_tokens": 3},
        (6, 3, 9),
        (0, 0, None),
    ),
    "LiteLLM before Anthropic": (
        counts(
            2006,
            300,
            2306,
            prompt_tokens_details={"cached_tokens": 1800, "cache_creation_tokens": 200},
            cache_read_input_tokens=1800,
            cache_creation_input_tokens=200,
        ),
        (2006, 300, 2306),
        (1800, 200, None),
    ),
    "DeepSeek": (
        counts(
            2006,
            300,
            2306,
            prompt_cache_hit_tokens=1920,
            prompt_cache_miss_tokens=86,
            completion_tokens_details={"reasoning_tokens": 100},
        ),
        (2006, 300, 2306),
        (1920, None, 100),
    ),
    "DeepSeek without a prompt": (
        {"completion_tokens": 300, "prompt_cache_hit_tokens": 1920, "prompt_cache_miss_tokens": 86},
        (2006, 300, 2306),
        (1920, None, None),
    ),
    "Moonshot": (counts(2006, 300, 2306, cached_tokens=1920), (2006, 300, 2306), (1920, None, None)),
    "xAI": (
        counts(10, 5, 115, completion_tokens_details={"reasoning_tokens": 100}),
        (10, 105, 115),
        (None, None, 100),
    ),
    "Bedrock Converse": (
        {"inputTokens": 6, "outputTokens": 300, "cacheReadInputTokens": 1800, "cacheWriteInputTokens": 200},
        (2006, 300, 2306),
        (1800, 200, None),
    ),
    "text": (
        counts("2006", "300", "2306", prompt_tokens_details={"cached_tokens": "1920"}),
        (2006, 300, 2306),
        (1920, None, None),
    ),
    "decimals": (counts(2006.0, 300.0, 2306.0), (2006, 300, 2306), (None, None, None)),
    "two spellings, of which one is filled with zeros": (
        counts(2006, 300, 2306, input_tokens=0, output_tokens=0, input_tokens_details=None),
        (2006, 300, 2306),
        (None, None, None),
    ),
    "under another key": ({"tokens": {"input_tokens": 6, "output_tokens": 3}}, (6, 3, 9), (None, None, None)),
    "twice the same": (
        {"billed_units": {"input_tokens": 6, "output_tokens": 3}, "tokens": {"input_tokens": 6, "output_tokens": 3}},
        (6, 3, 9),
        (None, None, None),
    ),
}


@pytest.mark.parametrize(("usage", "whole", "part"), SPELLINGS.values(), ids=SPELLINGS)
def test_every_spelling_gives_the_same_figures(usage: Any, whole: Any, part: Any) -> None:
    assert (halves(used(usage)), parts(used(usage))) == (whole, part)


def test_gemini_counts_thinking_and_tools_apart() -> None:
    usage = {
        "promptTokenCount": 2000,
        "toolUsePromptTokenCount": 6,
        "cachedContentTokenCount": 1920,
        "candidatesTokenCount": 200,
        "thoughtsTokenCount": 100,
        "totalTokenCount": 2306,
        "promptTokensDetails": [{"modality": "TEXT", "tokenCount": 2000}],
    }
    for place in ("usageMetadata", "usage_metadata"):
        assert (halves(used(usage, place=place)), parts(used(usage, place=place))) == (
            (2006, 300, 2306),
            (1920, None, 100),
        )
    del usage["totalTokenCount"]
    assert halves(used(usage)) == (2006, 300, 2306)


@pytest.mark.parametrize(
    "body",
    [
        {"choices": [{"usage": counts(6, 3, 9)}], "usage": None},  # Moonshot, in streams
        {"x_groq": {"id": "1", "usage": counts(6, 3, 9)}},
        {"choices": [{"message": {"content": "Hello.", "usage": counts(6, 3, 9)}}]},
        {"usage": {}, "metadata": {"usage": {"input_tokens": 6, "output_tokens": 3}}},
        {"usage": {"usage": {"usage": counts(6, 3, 9)}}},
    ],
)
def test_a_usage_in_another_place_is_found(body: Any) -> None:
    assert halves(read_usage(body, is_generated=True)) == (6, 3, 9)


def test_what_the_model_wrote_is_no_usage() -> None:
    said = {"usage": counts(1, 1, 2), "prompt_tokens": 1}
    body = {"choices": [{"message": {"content": said, "tool_calls": [{"function": {"arguments": said}}]}}]}
    assert read_usage(body, is_generated=True) == Usage()


def test_different_counts_in_two_places_are_not_believed() -> None:
    billed = {
        "billed_units": {"input_tokens": 6, "output_tokens": 3},
        "tokens": {"input_tokens": 7, "output_tokens": 3},
    }
    assert used(billed) == Usage()


# --- what cannot be true


IMPOSSIBLE = {
    "nothing is counted": (counts(0, 0, 0), (None, None, None)),
    "text without tokens": (counts(100, 0, 100), (100, None, None)),
    "text without tokens, no total": (counts(100, 0), (100, None, None)),
    "text without tokens, a total of 0": (counts(100, 0, 0), (100, None, None)),
    "a total that holds the text": (counts(100, 0, 120), (100, 20, 120)),
    "no prompt": (counts(0, 20, 20), (None, 20, None)),
    "no prompt, but a larger total": (counts(0, 20, 120), (None, 20, 120)),
    "a total of 0": (counts(100, 20, 0), (100, 20, 120)),
    "a total without the text": (counts(100, None, 100), (100, None, None)),
    "halves above their total": (counts(100, 20, 110), (None, None, None)),
    "a prompt above the total": (counts(100, None, 50), (None, None, None)),
    "text above the total": (counts(None, 50, 20), (None, None, None)),
    "a negative half": (counts(-5, 20, 120), (None, 20, 120)),
    "a negative completion, and a total": (counts(100, -20, 120), (100, 20, 120)),
    "a negative total": (counts(100, 20, -1), (100, 20, 120)),
    "an absurd half": (counts(10**30, 20), (None, 20, None)),
    "a fraction": (counts(7.5, 20), (None, 20, None)),
    "no number": (counts("many", [20], {"a": 1}), (None, None, None)),
    "a truth value": (counts(True, 20), (None, 20, None)),
    "two prompts": (counts(100, 20, 120, input_tokens=90), (None, 20, 120)),
    "more cached than there is": (
        counts(100, 20, 120, prompt_tokens_details={"cached_tokens": 1920}),
        (None, 20, None),
    ),
    "read and written are more than there is": (
        counts(100, 20, 120, prompt_tokens_details={"cached_tokens": 60, "cache_write_tokens": 60}),
        (None, 20, None),
    ),
    "a negative part": (counts(100, 20, 120, prompt_tokens_details={"cached_tokens": -1}), (None, 20, None)),
    "hits and misses are another prompt": (
        counts(100, 20, 120, prompt_cache_hit_tokens=64, prompt_cache_miss_tokens=64),
        (None, 20, 120),
    ),
    "more thinking than there is": (
        counts(100, 20, 120, completion_tokens_details={"reasoning_tokens": 500}),
        (100, None, None),
    ),
    "it is not clear whether the cache is within": (
        {
            "input_tokens": 100,
            "output_tokens": 20,
            "cache_read_input_tokens": 64,
            "input_tokens_details": {"cached_tokens": 64},
        },
        (None, 20, None),
    ),
    "no object": ([1, 2], (None, None, None)),
    "text": ("120", (None, None, None)),
}


@pytest.mark.parametrize(("usage", "whole"), IMPOSSIBLE.values(), ids=IMPOSSIBLE)
def test_an_impossible_count_is_unknown_and_the_rest_is_kept(usage: Any, whole: Any) -> None:
    read = used(usage)
    assert halves(read) == whole
    assert read.prompt_tokens is not None or (read.cached_tokens, read.cache_write_tokens) == (None, None)
    assert read.completion_tokens is not None or read.reasoning_tokens is None


def test_an_answer_without_text_may_have_no_tokens() -> None:
    assert halves(used(counts(100, 0, 100), is_generated=False)) == (100, 0, 100)
    assert halves(used(counts(100, None, 100), is_generated=False)) == (100, 0, 100)
    assert halves(used(counts(0, 0, 0), is_generated=False)) == (None, None, None)


def test_a_server_that_counts_nothing_is_recognised() -> None:
    assert used(counts(0, 0, 0)).is_uncounted
    assert used(counts(0, None, None)).is_uncounted
    assert not used(counts(9, 0, 0)).is_uncounted
    assert not used({}).is_uncounted


def test_sound_is_counted_apart() -> None:
    usage = counts(
        100, 20, 120, prompt_tokens_details={"audio_tokens": 7}, completion_tokens_details={"audio_tokens": 2}
    )
    assert used(usage).audio_tokens == 9
    assert used(counts(100, 20, 120, completion_tokens_details={"audio_tokens": 2})).audio_tokens == 2
    assert used(counts(100, 20, 120, prompt_tokens_details={"audio_tokens": 0})).audio_tokens is None


@pytest.mark.parametrize(
    "figure",
    ["1e999999999", "1e-999999999", "-1e999999999", "NaN", "Infinity", '"' + "9" * 5000 + '"', "[" * 99 + "]" * 99],
)
def test_a_hostile_figure_is_unknown(figure: str) -> None:
    body = f'{{"usage": {{"prompt_tokens": {figure}, "completion_tokens": 20, "x": {figure}}}}}'.encode()
    assert halves(read_usage(load_reply(body), is_generated=True)) == (None, 20, None)


def test_deep_nesting_holds_no_usage() -> None:
    body = b'{"usage": ' + b'{"usage": ' * 900 + b'{"prompt_tokens": 5}' + b"}" * 901
    assert read_usage(load_reply(body) or {}, is_generated=True) == Usage()


@pytest.mark.parametrize(
    "figure", [b"1e999999999", b"9" * 5000, b'{"a":' * 900 + b"1" + b"}" * 900, b"[" * 900 + b"]" * 900]
)
@pytest.mark.parametrize("place", ["cost", "cost_details", "prompt_tokens", "prompt_tokens_details", "x"])
def test_an_answer_counts_whatever_figure_its_usage_holds(figure: bytes, place: str) -> None:
    body = b'{"choices": [{"message": {"content": "Hello."}}], "usage": {"%s": %s, "completion_tokens": 20}}'
    reply = Reply(200, body % (place.encode(), figure), {}, datetime(2026, 1, 1), 1.0)
    said = read_reply(reply, ReplySource("openrouter", reports_usd=True))
    assert (said.text, said.completion_tokens, said.prompt_tokens, said.cost) == ("Hello.", 20, None, None)
    json.dumps(said.cost_details)


NAMES = [
    "prompt_tokens", "completion_tokens", "total_tokens", "input_tokens", "output_tokens", "cached_tokens",
    "cache_read_input_tokens", "cache_creation_input_tokens", "cache_write_tokens", "prompt_cache_hit_tokens",
    "prompt_cache_miss_tokens", "reasoning_tokens", "audio_tokens", "prompt_tokens_details", "input_tokens_details",
    "completion_tokens_details", "usage", "promptTokenCount", "candidatesTokenCount", "thoughtsTokenCount",
]  # fmt: skip
FIGURES = st.none() | st.integers(-3, 300) | st.integers(0, 300).map(str) | st.sampled_from([0.5, "x", [], True])
INNER = st.dictionaries(st.sampled_from(NAMES), FIGURES, max_size=6)
OBJECTS = st.dictionaries(st.sampled_from(NAMES), FIGURES | INNER, max_size=8)


@given(OBJECTS, st.booleans())
def test_whatever_is_reported_the_figures_do_not_contradict_each_other(usage: Any, is_generated: bool) -> None:
    read = read_usage({"usage": usage}, is_generated=is_generated)
    prompt, completion, total = halves(read)
    cached, written, reasoning = parts(read)
    assert prompt is None or prompt > 0
    assert completion is None or completion > 0 or (completion == 0 and not is_generated)
    assert total is None or total >= (prompt or 0) + (completion or 0)
    assert None in (prompt, completion, total) or total == (prompt or 0) + (completion or 0)
    assert (cached, written) == (None, None) or (cached or 0) + (written or 0) <= (prompt or 0)
    assert reasoning is None or 0 <= reasoning <= (completion or 0)
    assert all(isinstance(count, int) and count >= 0 for count in (*halves(read), *parts(read)) if count is not None)


@given(
    st.integers(1, 10**6), st.integers(1, 10**6), st.integers(0, 10**6), st.integers(0, 10**6), st.integers(0, 10**6)
)
def test_all_spellings_of_one_usage_agree(fresh: int, said: int, thought: int, read: int, written: int) -> None:
    prompt, completion = fresh + read + written, said + thought
    total = prompt + completion
    openai = counts(
        prompt,
        completion,
        total,
        prompt_tokens_details={"cached_tokens": read, "cache_write_tokens": written},
        completion_tokens_details={"reasoning_tokens": thought},
    )
    anthropic = {
        "input_tokens": fresh,
        "cache_read_input_tokens": read,
        "cache_creation_input_tokens": written,
        "output_tokens": completion,
        "output_tokens_details": {"thinking_tokens": thought},
    }
    xai = {**openai, "completion_tokens": said}
    texts = {name: str(value) if isinstance(value, int) else value for name, value in openai.items()}
    expected = Usage(prompt, completion, total, read, written, thought)
    assert [used(usage) for usage in (openai, anthropic, xai, texts)] == [expected] * 4
