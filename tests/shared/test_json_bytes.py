"""JSON as bytes: what is written is what the standard library would write, and what it reads is read alike."""

from __future__ import annotations

import hashlib
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from debatebench.providers.base import Message, Request
from debatebench.shared.json_bytes import from_json, json_string, to_json

ANY_TEXT = st.text(st.characters(exclude_categories=()))
ANY_VALUE = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | ANY_TEXT,
    lambda inner: st.lists(inner) | st.dictionaries(ANY_TEXT, inner),
    max_leaves=10,
)


@given(ANY_VALUE)
def test_any_value_is_one_line_of_ascii_and_comes_back(value: Any):
    text = to_json(value)
    assert text.isascii()
    assert b"\n" not in text
    assert from_json(text) == value
    assert json.loads(text) == value


@given(ANY_VALUE)
def test_what_the_standard_library_wrote_is_read(value: Any):
    assert from_json(json.dumps(value).encode("ascii")) == value


@pytest.mark.parametrize("number", [float("nan"), float("inf"), float("-inf")])
def test_a_number_that_json_has_not_is_refused_wherever_it_stands(number: float):
    with pytest.raises(ValueError, match="Out of range float values"):
        to_json({"rows": [{"cost": None}, {"cost": number}]})


@pytest.mark.parametrize("text", [b"", b"{", b"[1,]", b'"\xff"', b"nul", b'{"a":1}x'])
def test_what_is_no_json_is_a_value_error(text: bytes):
    with pytest.raises(ValueError, match=r"."):
        from_json(text)


@given(ANY_TEXT)
def test_a_text_is_quoted_as_the_standard_library_does_it(text: str):
    assert json_string(text) == json.dumps(text)


@pytest.mark.parametrize("code", range(0x100))
def test_every_character_is_quoted_as_the_standard_library_does_it(code: int):
    assert json_string(chr(code)) == json.dumps(chr(code))


@given(ANY_TEXT, st.floats(allow_nan=False, allow_infinity=False), ANY_VALUE)
def test_the_hash_of_a_request_is_that_of_its_fields_as_sorted_json(content: str, temperature: float, value: Any):
    request = Request(
        "m",
        (Message("system", content), Message("user", "x")),
        temperature=temperature,
        max_tokens=7,
        seed=3,
        json_schema={"type": "object"},
        parameters={"z": value, "a": content},
    )
    fields = {
        "model": "m",
        "messages": [{"role": "system", "content": content}, {"role": "user", "content": "x"}],
        "temperature": temperature,
        "max_tokens": 7,
        "seed": 3,
        "json_schema": {"type": "object"},
        "parameters": {"z": value, "a": content},
    }
    text = json.dumps(fields, sort_keys=True, separators=(",", ":"))
    assert request.sha256() == hashlib.sha256(text.encode("ascii")).hexdigest()
