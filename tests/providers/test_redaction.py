"""A key is found in whatever form a server sends it back, and nothing else is touched."""

from __future__ import annotations

import json
import random
import string
from datetime import datetime
from itertools import pairwise

import pytest
from hidden_key import ESCAPES, FORMS, finds

from debatebench.providers.base import Reply
from debatebench.providers.endpoints import proxy_secrets
from debatebench.providers.openai_reply import ReplySource, read_reply
from debatebench.providers.redaction import REDACTED, excerpt, without_keys_in_bytes, without_known_keys

KEYS = [
    "sk-or-v1-canary0123456789abcdef",
    "canary+/=with/all+that/base64-needs",
    "nvapi-tn" + "rxu0041" * 3,
    "/starts+with/signs",
    "eyJhbGciOiJIUzI1NiJ9." + "".join(random.Random(3).choices(string.ascii_letters + string.digits, k=300)),
]


@pytest.fixture(params=KEYS, ids=lambda key: key[:12])
def key(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def body(text: str, escape: str = "") -> bytes:
    """A whole answer; `escape` stands in its text as the bytes of JSON."""
    return json.dumps({"choices": [{"message": {"content": f"{text}<here>"}}]}).replace("<here>", escape).encode()


@pytest.mark.parametrize("form", FORMS)
def test_a_key_is_found_in_any_form(key: str, form: str) -> None:
    for before, after in (("", ""), ("Look: ", " there."), ('"', '"'), ("a\n", "\nb"), ("é“", "”")):
        raw = body(before + FORMS[form](key) + after)
        assert finds(raw, key)
        kept = without_keys_in_bytes(raw, [key])
        assert not finds(kept, key)
        said = json.loads(kept)["choices"][0]["message"]["content"]
        assert REDACTED in said
        assert said.startswith(before.strip()), "what stands beside it stays"
        assert said.endswith(after.strip())


@pytest.mark.parametrize("escape", ESCAPES)
def test_a_key_is_found_in_the_escapes_of_json(key: str, escape: str) -> None:
    raw = body("Look: ", ESCAPES[escape](key) + ".")
    assert finds(raw, key)
    kept = without_keys_in_bytes(raw, [key])
    assert json.loads(kept)["choices"][0]["message"]["content"] == f"Look: {REDACTED}."


@pytest.mark.parametrize("step", [1, 2, 5, 11])
@pytest.mark.parametrize("escape", ESCAPES)
def test_a_key_is_found_in_the_pieces_of_a_stream(key: str, escape: str, step: int) -> None:
    said = f"Look: {key} there."
    pieces = [said[n : n + step] for n in range(0, len(said), step)]
    chunks = []
    for number, piece in enumerate(pieces):
        part = [{"type": "text", "text": "<here>"}] if number % 3 == 1 else "<here>"
        delta = {"index": 0, "delta": {"role": "assistant", "content": part, "reasoning": None}}
        chunk = json.dumps({"id": "gen-1", "object": "chunk", "choices": [delta]})
        chunks.append(f"data: {chunk.replace('<here>', ESCAPES[escape](piece) if piece.strip() else piece)}\n\n")
    raw = "".join(chunks).encode()
    kept = without_keys_in_bytes(raw + b"data: [DONE]\n\n", [key])
    assert not finds(kept, key)
    reply = Reply(200, kept, {}, datetime(2026, 1, 2), 1.0)
    assert read_reply(reply, ReplySource("http")).text == f"Look: {REDACTED} there."
    for cut in random.Random(step).sample(range(len(raw)), 3):
        assert not finds(without_keys_in_bytes(raw[:cut], [key], is_cut=True), key)


def test_a_key_is_found_in_the_parts_of_a_text_and_the_arguments_of_calls(key: str) -> None:
    half = len(key) // 2
    for content in (
        [{"type": "text", "text": f"a {key[:half]}"}, {"type": "text", "text": f"{key[half:]} b"}],
        [f"a {key[:half]}", f"{key[half:]} b"],
        [
            {
                "type": "thinking",
                "thinking": [{"type": "text", "text": key[:half]}, {"type": "text", "text": key[half:]}],
            }
        ],
    ):
        raw = json.dumps({"choices": [{"message": {"content": content}}]}).encode()
        assert not finds(without_keys_in_bytes(raw, [key]), key)
    events = b""
    for first, second in pairwise(range(0, len(key) + 3, 3)):
        for index, piece in ((0, key[first:second]), (1, "xyz")):
            call = {"index": index, "function": {"arguments": piece}}
            events += b"data: " + json.dumps({"choices": [{"index": 0, "delta": {"tool_calls": [call]}}]}).encode()
            events += b"\n\n"
    kept = without_keys_in_bytes(events, [key])
    reply = Reply(200, kept + b"data: [DONE]\n\n", {}, datetime(2026, 1, 2), 1.0)
    assert REDACTED.encode() in kept
    assert kept.count(b"xyz") == len(range(0, len(key), 3)), "the other call stays"
    assert b"arguments" in reply.body


@pytest.mark.parametrize("interruption", ["<wbr>", "\n", " ", "</b><b>", "\0"])
def test_a_key_is_found_in_a_page_that_interrupts_it(key: str, interruption: str) -> None:
    page = f"<html><p>Your key {interruption.join(key)} is wrong.</p></html>".encode()
    kept = without_keys_in_bytes(page, [key])
    assert kept == f"<html><p>Your key {REDACTED} is wrong.</p></html>".encode()


def test_a_body_without_the_key_stays_byte_for_byte(key: str) -> None:
    draw = random.Random(4)
    signs = [*key[:80], *'"\\{}[]:,%&#;<>/+ \n', "\\u00", "\\n", "%2", "&#x", "data: ", '"text": "', "é", "\\ud800"]
    for _ in range(400):
        text = "".join(draw.choices(signs, k=draw.randrange(60))).encode()
        for raw in (text, b"{" + text, b"data: " + text, text + b"\xff\xfe"):
            assert finds(raw, key) or without_keys_in_bytes(raw, [key]) == raw


def test_a_cut_body_holds_no_beginning_of_a_key(key: str) -> None:
    for escape in ESCAPES.values():
        raw = b'{"you said": "' + escape(key).encode()
        for length in range(min(len(raw), 400)):
            kept = without_keys_in_bytes(raw[:length], [key], is_cut=True)
            assert not finds(kept, key[:8])


def test_a_message_is_cut_after_the_key_is_found(key: str) -> None:
    for before in (9_990, 9_960, 150):
        assert key[:6] not in excerpt(" " * before + key + " " * 20_000, [key])


def test_a_short_key_is_found_as_it_is_written_and_nothing_is_taken_for_its_base64() -> None:
    text = "YWJj is no key; a b c neither; abc is."
    assert without_known_keys(text, ["abc"]) == f"YWJj is no key; a b c neither; {REDACTED} is."


def test_what_takes_a_search_long_is_bounded() -> None:
    key = KEYS[0]
    for evil in ("\\", "s<", "s ", "%25", "&amp;", "s\\n", key[:-1], f'"content":"{key[:-1]}",'):
        raw = ("{" + evil * (300_000 // len(evil))).encode()
        assert without_keys_in_bytes(raw, [key], is_cut=True)[:20] == raw[:20]


def test_the_secrets_of_a_proxy_are_its_password_and_what_its_header_says() -> None:
    assert set(proxy_secrets("http://me:pass%40word@host")) == {"bWU6cGFzc0B3b3Jk", "pass@word", "pass%40word"}
    assert proxy_secrets("http://host") == proxy_secrets("http://me@host") == proxy_secrets(None) == ()
