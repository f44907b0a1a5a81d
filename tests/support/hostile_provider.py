"""A hundred and more ways in which a provider can misbehave, as a table, and what must hold under each.

`MODES` maps names to behaviours. `Sick` is the script of a server that misbehaves in one of these ways for some of the
questions, always or the first time, until it is `healed`; the others it answers well. Whatever it does:

- a command ends with a documented exit code, and without a traceback;
- every request that the server received whole is an attempt in the journal, and in `raw.calls`;
- no question that was answered well is asked again;
- what the server sends to no request (`SMUGGLED`) is nobody's answer;
- once the server is healed, every debate is complete or void, if need be with the judges that are advised, and the run
  lands.
"""

from __future__ import annotations

import gzip
import json
import socket
import struct
import zlib
from collections import Counter
from collections.abc import Collection, Iterator, Mapping
from pathlib import Path
from typing import Any

import duckdb
from command_line import Done, debatebench
from fake_provider import (
    JSON_TYPE,
    Behaviour,
    FakeProvider,
    Received,
    Wire,
    answer,
    body,
    completion_body,
    cut,
    drip,
    error_in_200,
    gzip_bomb,
    gzipped,
    hang_up,
    head,
    html,
    huge,
    redirect,
    silence,
    status,
)
from tournament import KEY, add_judges, good_answers, write_workspace

SMUGGLED = "Smuggled answer"
TIMEOUT_S = 2.0
"""The `timeout` of the entries: modes that never end take as long."""


class Sick:
    """A script for `FakeProvider`. A sixth of the questions meets the mode always, another sixth the first time."""

    def __init__(self, mode: str) -> None:
        self.trouble = MODES[mode]
        self.is_healed = False
        self.hostile = 0
        self.asked: Counter[bytes] = Counter()
        self.answered: Counter[bytes] = Counter()

    def __call__(self, received: Received) -> Behaviour:
        self.asked[received.body] += 1
        draw = zlib.crc32(received.body) % 6
        if not self.is_healed and (draw == 0 or (draw == 1 and self.asked[received.body] == 1)):
            self.hostile += 1
            return self.trouble
        self.answered[received.body] += 1
        return good_answers(received)


def raw(*pieces: bytes, hangs_up: bool = True, resets: bool = False) -> Behaviour:
    """Send these bytes as they are; then close the connection, in order or by a reset, or keep it."""

    def behave(wire: Wire) -> None:
        try:
            for piece in pieces:
                wire.socket.sendall(piece)
        except OSError:
            # The client has heard enough.
            wire.hang_up()
        if resets:
            wire.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        if hangs_up or resets:
            wire.hang_up()

    return behave


def whole(text: str = "Hello.", **changes: Any) -> bytes:
    return json.dumps(completion_body(text, **changes)).encode()


def with_head(lines: str, content: bytes, **options: Any) -> Behaviour:
    """A reply with the lines of a head, each ended by CRLF."""
    return raw("".join(f"{line}\r\n" for line in [*lines.split("\n"), ""]).encode("latin-1") + content, **options)


def content(value: Any, **message: Any) -> Behaviour:
    return answer(value, message=message)


def usage(**counts: Any) -> Behaviour:
    return answer("A speech.", usage=counts)


def events(*data: Any, end: str = "data: [DONE]\n\n") -> Behaviour:
    """Server-sent events."""
    lines = "".join(f"data: {each if isinstance(each, str) else json.dumps(each)}\n\n" for each in data)
    return body((lines + end).encode(), headers={"content-type": "text/event-stream"})


def delta(value: Any, **choice: Any) -> dict[str, Any]:
    return {"choices": [{"index": 0, "delta": {"content": value}, **choice}]}


def again(reply: bytes) -> bytes:
    """A whole reply with a text that belongs to no request."""
    smuggled = whole(SMUGGLED)
    return reply + head(200, {**JSON_TYPE, "content-length": str(len(smuggled))}) + smuggled


def _framed(data: bytes, **headers: str) -> bytes:
    return head(200, {**JSON_TYPE, "content-length": str(len(data)), **headers}) + data


def _nested(depth: int) -> str:
    return '{"a":' * depth + "1" + "}" * depth


def play_commands(root: Path, mode: str, tag: str = "tiny") -> list[str]:
    """Play `run`, `retry` and `land` with a server in this mode, which is healed before the retry: what was broken.

    The SQL models are not built.
    """
    sick = Sick(mode)
    problems = []
    with FakeProvider(sick) as server:
        write_workspace(root, server)
        for name in ("models.yaml", "judges.yaml"):
            path = root / "configs" / name
            path.write_text(path.read_text().replace("provider: http", f"timeout: {TIMEOUT_S}, provider: http"))

        def command(*words: str, codes: Collection[int]) -> Done:
            done = debatebench(root, *words, environ={"TINY_API_KEY": KEY})
            if done.code not in codes or "Traceback" in done.err or KEY in done.out + done.err:
                problems.append(f"`{' '.join(words)}` ended with exit code {done.code}: {done.err.strip()[-500:]}")
            return done

        run = ("run", "--run-tag", tag, "--sample-topics", "1", "--max-ambiguous-retries", "1", "--no-input")
        command(*run, "--no-build", "--wait-for-limit", "1s", "--max-failures-in-a-row", "0", codes=(0, 1, 5))
        if not sick.hostile:
            problems.append("the mode was not met")
        sick.is_healed = True
        if "--new-judge ID` asks another judge" in command("retry", tag, "--no-build", codes=(0, 5)).err:
            # Every judge of the pool has refused a debate for good.
            command("retry", tag, *add_judges(root), "--no-build", codes=(0,))
        command("land", "--no-build", codes=(0,))
    if max(sick.answered.values()) > 1:
        problems.append("a question was asked again although it was answered")
    return [*problems, *_problems_of(root, len(server.requests))]


def _problems_of(root: Path, requests: int) -> Iterator[str]:
    """What is wrong with the warehouse of a run whose server has received so many requests."""
    with duckdb.connect(str(root / "warehouse" / "debatebench.duckdb"), read_only=True) as con:
        over = "select count(*) from raw.debates where coalesce(status, 'complete') in ('complete', 'void')"
        if (ended := con.execute(over).fetchone()) != (6,):
            yield f"{ended} of 6 debates are complete or void"
        (sent,) = con.execute("select count(*) from raw.calls where status <> 'unsent'").fetchone() or (0,)
        if requests > sent:
            yield f"{requests} requests were sent, and {sent} are recorded"
        if con.execute("select 1 from raw.turns where contains(content, $1)", [SMUGGLED]).fetchone():
            yield "an answer to no request became a speech"
    if any(KEY.encode() in path.read_bytes() for path in (root / "warehouse").rglob("*") if path.is_file()):
        yield "the key is in a file"


GOOD = whole()
OK = "HTTP/1.1 200 OK\ncontent-type: application/json"
LENGTH = f"content-length: {len(GOOD)}"
CHUNK = f"{len(GOOD):x}\r\n".encode() + GOOD + b"\r\n"

_STATUSES = (
    204, 205, 206, 226, 299, 300, 301, 304, 400, 401, 402, 403, 404, 405, 407, 408, 409, 410, 413, 418, 422, 424, 425,
    429, 451, 460, 498, 499, 500, 501, 502, 503, 504, 505, 511, 520, 521, 522, 524, 525, 529, 599, 600, 999,
)  # fmt: skip
_CODES: tuple[Any, ...] = (400, 402, 429, 500, 502, "timeout", None, True, [], -1)
_PAGES = (200, 400, 403, 404, 429, 500, 502, 503, 504, 524)
_BODIES: Mapping[str, bytes] = {
    "empty body": b"",
    "blanks": b" \n\t" * 1000,
    "null": b"null",
    "true": b"true",
    "a number": b"1e999999999",
    "a string": b'"Hello."',
    "empty object": b"{}",
    "empty list": b"[]",
    "list of an answer": b"[" + GOOD + b"]",
    "two objects": GOOD + GOOD,
    "object and prose": GOOD + b" And that is that.",
    "NUL bytes": b"\x00" * 100,
    "UTF-16": GOOD.decode().encode("utf-16"),
    "invalid UTF-8": b'{"choices": [{"message": {"content": "\xff\xfe\x80"}}]}',
    "latin-1": '{"choices": [{"message": {"content": "é"}}]}'.encode("latin-1"),
    "byte order mark": b"\xef\xbb\xbf" + GOOD,
    "megabytes of blanks first": b" " * (7 << 20) + GOOD,
    "JSON lines": GOOD + b"\n" + GOOD + b"\n",
    "100,000 brackets": b"[" * 100_000,
    "nested 5,000 deep": _nested(5_000).encode(),
    "a half": GOOD[: len(GOOD) // 2],
}
_VALUES: Mapping[str, Any] = {
    "choices null": {"choices": None},
    "choices an object": {"choices": {"0": {}}},
    "choices of strings": {"choices": ["Hello."]},
    "choices of null": {"choices": [None]},
    "message a string": {"choices": [{"message": "Hello."}]},
    "message a list": {"choices": [{"message": [{"content": "Hello."}]}]},
    "many choices": {"choices": completion_body("Hello.")["choices"] * 1000},
    "error a string": {"error": "No."},
    "error a list": {"error": [{"message": "No."}]},
    "error true": {"error": True},
    "error with an answer": {**completion_body("Hello."), "error": {"code": 500, "message": "No."}},
    "error whose code is an object": {"error": {"code": {"code": 1}, "message": ["No."]}},
    "error with a long message": {"error": {"code": 500, "message": "No. " * 10_000}},
    "detail of FastAPI": {"detail": [{"loc": ["body", 0, {}], "msg": None, "type": 7}]},
    "model an object": {**completion_body("Hello."), "model": {"name": "x"}, "id": ["x"], "provider": 7},
    "finish reason an object": completion_body("Hello.", choice={"finish_reason": {"reason": "stop"}}),
    "usage a list": {**completion_body("Hello."), "usage": [1, 2]},
    "usage a string": {**completion_body("Hello."), "usage": "many"},
    "older completions": {"object": "text_completion", "choices": [{"text": "Hello.", "index": 0}]},
    "Anthropic's messages": {"type": "message", "content": [{"type": "text", "text": "Hello."}], "stop_reason": "end"},
    "Gemini's candidates": {"candidates": [{"content": {"parts": [{"text": "Hello."}]}, "finishReason": "STOP"}]},
}
_USAGES = {
    "cost of 1e999999999": '"cost":1e999999999',
    "tokens of 1e999999999": '"prompt_tokens":1e999999999',
    "tokens of 5,000 digits": f'"total_tokens":{"9" * 5000}',
    "NaN and Infinity": '"cost":NaN,"total_tokens":Infinity',
    "details nested 450 deep": f'"cost":0.1,"cost_details":{_nested(450)}',
    "details nested 900 deep": f'"cost":0.1,"cost_details":{_nested(900)}',
}
_ESCAPED_KEY = "".join(f"\\u{ord(letter):04x}" for letter in KEY)
# As `json.dumps` would not write it.
_TEXTS: Mapping[str, str] = {
    **{
        name: '{"choices":[{"message":{"content":"Hello."}}],"usage":{' + figures + "}}"
        for name, figures in _USAGES.items()
    },
    "duplicate keys": '{"choices":[],"choices":[{"message":{"content":"Hello.","content":"Other."}}]}',
    "lone surrogates": '{"choices":[{"message":{"content":"Hello \\ud800 \\udfff"}}]}',
    "key in escapes": '{"error":{"code":400,"message":"Bad key ' + _ESCAPED_KEY + '"}}',
    "a code of 1e400": '{"error":{"code":1e400,"message":"No."}}',
}

MODES: dict[str, Behaviour] = {
    # Statuses, with an error of the provider's own form and as a page of something in between.
    **{f"status {code}": status(code) for code in _STATUSES},
    **{f"page {code}": html(code) for code in _PAGES},
    **{f"error {code!r} in 200": error_in_200(code) for code in _CODES},
    # Bodies.
    **{name: body(data) for name, data in _BODIES.items()},
    **{name: body(value) for name, value in _VALUES.items()},
    **{name: body(value.encode()) for name, value in _TEXTS.items()},
    # Contents.
    "content a number": content(7),
    "content true": content(True),
    "content an object": content({"text": "Hello."}),
    "content nested lists": content([[["Hello."]]]),
    "content of null parts": content([None, {"type": "text"}, {"type": 7, "text": "x"}]),
    "10,000 parts": content([{"type": "text", "text": "a "}] * 10_000),
    "text of a megabyte": content("word " * 200_000),
    "control characters": content("\x00\x07\x1b[2J\u202e\ufeff\u2028 Hello."),
    "only invisible characters": content("\u200b\u2060\ufeff"),
    "only thinking": content("<think>Hm.</think>"),
    "thinking without an end": content("<think>Hm."),
    "key in the speech": content(f"My key is {KEY}."),
    "refusal an object": content(None, refusal={"reason": "no"}),
    "tool calls": content(None, tool_calls=[{"function": {"name": 7, "arguments": {"a": 1}}}, None]),
    "content filter": answer("", choice={"finish_reason": "content_filter"}),
    "finish reason error": answer("Half", choice={"finish_reason": "error"}),
    "cut at the limit": answer("Half", choice={"finish_reason": "length"}),
    # Figures.
    "usage of zeros": usage(prompt_tokens=0, completion_tokens=0, total_tokens=0, cost=0),
    "negative usage": usage(prompt_tokens=-5, completion_tokens=-5, cost=-1),
    "usage as text": usage(prompt_tokens="many", completion_tokens="1e3", cost="free"),
    "a cost of 1e308": usage(cost=1e308),
    "cost details a list": usage(cost_details=[1, {"a": None}], is_byok="yes"),
    "usage true": usage(prompt_tokens=True, completion_tokens=False, cost=True),
    # Server-sent events that were not asked for.
    "events": events(delta("Hello "), delta("you.", finish_reason="stop")),
    "events cut": events(delta("Hello "), end=""),
    "events with an error": events(delta("Hello "), {"error": {"code": 502, "message": "No."}}),
    "events of nonsense": events("7", "null", "{", "[[]]"),
    "events without data": body(b": ping\n\n" * 1000, headers={"content-type": "text/event-stream"}),
    "events of parts": events(delta([{"type": "text", "text": "Hello."}], finish_reason="stop")),
    # Hints.
    # A hint of up to five minutes would be kept, so no mode gives one.
    **{f"retry after {hint}": status(429, headers={"retry-after": hint}) for hint in ("-1", "0", "soon", "nan")},
    "a redirect to itself": redirect("/v1/chat/completions"),
    "a redirect elsewhere": redirect("http://user:password@127.0.0.1:1/", 307),
    "a redirect to a file": redirect("file:///etc/passwd", 308),
    "cookies": body(GOOD, headers={**JSON_TYPE, "set-cookie": f"key={KEY}"}),
    # The wire.
    "hang-up": hang_up(),
    "hang-up after the head": hang_up({}),
    "reset": raw(resets=True),
    "reset in the body": raw(_framed(GOOD)[:-20], resets=True),
    "cut by length": cut(framing="content-length"),
    "cut in a chunk": cut(framing="chunked"),
    "cut at the close": cut(framing="close"),
    "cut error": cut(code=503),
    "silence": silence(),
    "silence after the head": silence(sends_head=True),
    "a byte at a time": drip(0.1),
    "nine megabytes": huge(9 << 20),
    "nine megabytes of an error": huge(9 << 20, code=500),
    "gzip": gzipped(),
    "gzip cut": gzipped(keep=30),
    "gzip bomb": gzip_bomb(64 << 20),
    "gzip twice": body(gzip.compress(gzip.compress(GOOD)), headers={**JSON_TYPE, "content-encoding": "gzip, gzip"}),
    "gzip that is not": body(GOOD, headers={**JSON_TYPE, "content-encoding": "gzip"}),
    "brotli that was not asked for": body(b"\x0b\x02\x80Hello\x03", headers={**JSON_TYPE, "content-encoding": "br"}),
    "no status line": raw(GOOD),
    "status line of words": raw(b"ERROR no such thing\r\n\r\n"),
    "status abc": raw(b"HTTP/1.1 abc OK\r\n\r\n"),
    "status 99999": raw(b"HTTP/1.1 99999 OK\r\ncontent-length: 0\r\n\r\n"),
    "HTTP/0.9": raw(b"<html>Hello.</html>"),
    "HTTP/2 preface": raw(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\x00\x00\x00\x04\x00\x00\x00\x00\x00"),
    "TLS alert": raw(b"\x15\x03\x03\x00\x02\x02\x28"),
    "negative length": with_head(f"{OK}\ncontent-length: -1", GOOD),
    "length of 10^30": with_head(f"{OK}\ncontent-length: {10**30}", GOOD),
    "length of words": with_head(f"{OK}\ncontent-length: all", GOOD),
    "two lengths": with_head(f"{OK}\n{LENGTH}\ncontent-length: 3", GOOD),
    "length and chunks": with_head(f"{OK}\n{LENGTH}\ntransfer-encoding: chunked", CHUNK + b"0\r\n\r\n"),
    "bad chunk size": with_head(f"{OK}\ntransfer-encoding: chunked", b"zz\r\n" + GOOD),
    "negative chunk size": with_head(f"{OK}\ntransfer-encoding: chunked", b"-5\r\n" + GOOD),
    "chunk size of 10^30": with_head(f"{OK}\ntransfer-encoding: chunked", b"f" * 25 + b"\r\n" + GOOD),
    "chunks without an end": with_head(f"{OK}\ntransfer-encoding: chunked", CHUNK),
    "unknown transfer": with_head(f"{OK}\ntransfer-encoding: magic", GOOD),
    "header without a colon": with_head(f"{OK}\n{LENGTH}\nnonsense", GOOD),
    "header with NUL": with_head(f"{OK}\n{LENGTH}\nx-note: a\x00b", GOOD),
    "header of a megabyte": with_head(f"{OK}\n{LENGTH}\nx-note: {'a' * (1 << 20)}", GOOD),
    "10,000 headers": with_head("\n".join([OK, LENGTH, *(f"x-{n}: {n}" for n in range(10_000))]), GOOD),
    "folded header": with_head(f"{OK}\n{LENGTH}\nx-note: a\n b", GOOD),
    "line feeds alone": raw(f"{OK}\n{LENGTH}\n\n".encode() + GOOD),
    "a thousand early hints": raw(b"HTTP/1.1 103 Early Hints\r\n\r\n" * 1000 + _framed(GOOD), hangs_up=False),
    "early hints alone": raw(b"HTTP/1.1 103 Early Hints\r\n\r\n"),
    "another reply behind": raw(again(_framed(GOOD)), hangs_up=False),
    "another reply behind an error": raw(
        again(head(500, {"content-length": "0"})), hangs_up=False
    ),
    "another reply behind nothing": raw(again(head(204, {})), hangs_up=False),
    "half a reply behind": raw(_framed(GOOD) + b"HTTP/1.1 200 OK\r\ncontent-le", hangs_up=False),
    "bytes behind": raw(_framed(GOOD) + b"\x00" * 100, hangs_up=False),
    "a body with 304": raw(again(head(304, {**JSON_TYPE, "content-length": "5"})), hangs_up=False),
}  # fmt: skip
