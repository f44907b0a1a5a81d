"""A key and a proxy's password that servers send back, in every form, are in nothing that a run leaves behind.

Everything is decoded before it is searched: the bodies in the journal, escapes, base64, the pieces of streams, the rows
of the warehouse, compressed files.
"""

from __future__ import annotations

import base64
import gzip
import json
import traceback
from collections import Counter
from collections.abc import Callable
from itertools import count, cycle
from pathlib import Path
from typing import Any
from urllib.parse import quote

import duckdb
import pytest
from call_session import CANARY, Session
from command_line import debatebench
from fake_provider import JSON_TYPE, Behaviour, FakeProvider, Received, Wire, body, completion_body, head
from hidden_key import ESCAPES, FORMS, finds
from tournament import good_answers, is_judge, verdict_text, write_workspace

from debatebench.journal.reading import read_journal
from debatebench.play.retries import RetryPolicy
from debatebench.providers.asking import Step
from debatebench.shared.errors import DebatebenchError

KEY = "sk-canary/5f2d+9c0b7a61e843-z"
PASSWORD = "pass/word+canary-77"
# What is searched for: from the middle, so that a part is found as well.
TELLING = (KEY[4:20], PASSWORD[3:16])
Echo = Callable[[str, Received], Behaviour]


def _streamed(said: str, _: Received) -> Behaviour:
    chunks = [{"choices": [{"index": 0, "delta": {"content": said[n : n + 5]}}]} for n in range(0, len(said), 5)]
    end = {"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]}
    events = "".join(f"data: {json.dumps(chunk)}\n\n" for chunk in (*chunks, end)) + "data: [DONE]\n\n"
    return body(events.encode(), headers={"content-type": "text/event-stream"})


def _cut_stream(said: str, received: Received) -> Behaviour:
    def behave(wire: Wire) -> None:
        _streamed(said, received)(wire)
        wire.hang_up()

    return behave


def _cut(said: str, _: Received) -> Behaviour:
    def behave(wire: Wire) -> None:
        data = json.dumps(completion_body(said)).encode()
        end = data.index(b'"finish_reason"') - 5
        wire.socket.sendall(head(200, {**JSON_TYPE, "content-length": str(len(data))}) + data[:end])
        wire.hang_up()

    return behave


def _escaped(name: str) -> Echo:
    """A verdict or speech with a key in the escapes of JSON."""

    def echo(said: str, received: Received) -> Behaviour:
        data = json.dumps(completion_body("Look: <here>", id="<here>")).replace("<here>", ESCAPES[name](said))
        return body(data.encode())

    return echo


def _error(code: int, **rest: Any) -> Echo:
    return lambda said, _: body({"error": {"code": code, "message": said, **rest}}, status=code)


ECHOES: dict[str, Echo] = {
    "answer": lambda said, _: body(completion_body(f"So: {said}", model=said, provider=said, id=said)),
    "reasoning": lambda said, _: body(completion_body("Well.", message={"reasoning": said})),
    "parts": lambda said, _: body(completion_body([{"type": "text", "text": s} for s in (said[:9], said[9:])])),
    "tool call": lambda said, _: body(
        completion_body(None, message={"tool_calls": [{"function": {"name": "a", "arguments": json.dumps({said: 1})}}]})
    ),
    "details of the cost": lambda said, _: body(completion_body("Well.", usage={"cost_details": {said: said}})),
    "broken off": lambda said, _: body(completion_body(f"Half {said}", choice={"error": {"message": said}})),
    "stream": _streamed,
    "broken stream": _cut_stream,
    "broken connection": _cut,
    "error in 200": lambda said, _: body({"error": {"code": 502, "message": said}}),
    "overload": _error(429),
    "failure": _error(500, metadata={"raw": json.dumps({"error": "x"}), "provider_name": "x"}),
    "page": lambda said, _: body(
        f"<html><title>Bad gateway</title><p>{said}</html>".encode(),
        status=502,
        headers={"content-type": "text/html"},
    ),
    "page in 200": lambda said, _: body(f"<html>{said}</html>".encode(), headers={"content-type": "text/html"}),
    "bytes": lambda said, _: body(b"\xff\xfe{" + said.encode(), status=503, headers={"content-type": "x/y"}),
    "headers": lambda said, _: body(
        {"error": {"message": "No."}},
        status=503,
        headers={**JSON_TYPE, "x-request-id": said, "x-ratelimit-reset": said, "x-generation-id": "g"},
    ),
    **{f"escapes: {name}": _escaped(name) for name in ESCAPES},
}
LAST: dict[str, Echo] = {
    "redirect": lambda said, _: body(
        said.encode(), status=302, headers={"location": f"http://127.0.0.1:1/?key={quote(said)}"}
    ),
    "refusal": lambda said, _: body(completion_body(None, message={"refusal": said})),
    "rejection": _error(400),
    "moderation": _error(403, metadata={"reasons": ["x"], "flagged_input": "x"}),
}


class Echoing:
    """A server that sends what it was sent back: an echo of each question, in all forms, then a good answer.

    All echoes have their turn, in whatever order questions come. The first questions to debaters end with those that
    are final.
    """

    def __init__(self) -> None:
        self.asked: Counter[bytes] = Counter()
        self.echoes: set[str] = set()
        self.turns, self.last_turns = count(), count()

    def __call__(self, received: Received) -> Behaviour:
        assert received.authorization == f"Bearer {KEY}"
        self.asked[received.body] += 1
        number = received.number
        if self.asked[received.body] == 1:
            return self._echo(ECHOES, next(self.turns), received)
        if not is_judge(received) and (turn := next(self.last_turns)) < len(LAST):
            return self._echo(LAST, turn, received)
        if is_judge(received) and number % 3 == 0:
            return body(completion_body(verdict_text(received).replace('"pro"', f'"{KEY}"', 1)))
        return good_answers(received)

    def _echo(self, echoes: dict[str, Echo], number: int, received: Received) -> Behaviour:
        name, echo = list(echoes.items())[number % len(echoes)]
        # Each time round, an echo comes in another form.
        number += number // len(echoes)
        form = list(FORMS.values())[number % len(FORMS)]
        self.echoes.add(name)
        secret = KEY if number % 2 else received.headers.get("proxy-authorization", PASSWORD)
        # Escapes within escapes would tell something else.
        return echo(secret if name.startswith("escapes") else form(secret), received)


def told(root: Path) -> list[str]:
    """The files below `root` that tell the key or the password to someone who decodes them."""
    found = []
    for path in sorted(root.rglob("*")):
        if path.is_dir():
            continue
        data = path.read_bytes()
        data = gzip.decompress(data) if data[:2] == b"\x1f\x8b" else data
        if path.suffix == ".jsonl" and path.parent.name == "journal":
            for event in read_journal(path):
                found += [f"{path.name}: {event.data}" for each in _texts(event.data) if _tells(each)]
        elif path.suffix == ".duckdb":
            found += [f"{path.name}: {row}" for row in _rows(path) if _tells(row)]
        elif path.suffix in (".json", ".jsonl", ".csv", ".txt", ".log", ".md", ".html") and path.stat().st_size < 10**6:
            found += [f"{path}: {line[:200]}" for line in data.decode("utf-8", "replace").splitlines() if _tells(line)]
        if any(telling.encode() in data for telling in TELLING):
            found.append(str(path))
    return found


def _tells(text: str) -> bool:
    return any(finds(text, telling) for telling in TELLING)


def _texts(event: dict[str, Any]) -> list[str]:
    texts = [json.dumps(event), str(event.get("body", ""))]
    for name in ("body_base64", "partial_body_base64"):
        texts.append(base64.b64decode(event.get(name, "")).decode("utf-8", "replace"))
    return texts


def _rows(path: Path) -> list[str]:
    with duckdb.connect(str(path), read_only=True) as con:
        tables = con.execute("select table_schema, table_name from information_schema.tables").fetchall()
        tables = [table for table in tables if table[0] in ("raw", "marts")]
        return [
            str([value for value in row if isinstance(value, str)])
            for schema, table in tables
            for row in con.execute(f'select distinct * from {schema}."{table}"').fetchall()
        ]


@pytest.mark.slow
def test_after_a_whole_run_through_a_proxy_no_file_page_export_or_message_holds_a_key(tmp_path: Path) -> None:
    echoing = Echoing()
    with FakeProvider(echoing) as server:
        root = write_workspace(tmp_path / "w", server)
        for name in ("models.yaml", "judges.yaml"):
            path = root / "configs" / name
            through = "endpoint: 'http://gpu.invalid/v1', allow_insecure: true, environment_proxies: true"
            path.write_text(path.read_text().replace(f"endpoint: '{server.url}'", through))
        environ = {
            "TINY_API_KEY": KEY,
            "HTTP_PROXY": f"http://me:{quote(PASSWORD, safe='')}@127.0.0.1:{server.port}",
            "NO_PROXY": "",
        }
        said = []
        for command in (
            ("run", "--run-tag", "tiny", "--no-input", "-y", "--log-failed-judges"),
            ("retry", "tiny"),
            ("land", "--reparse"),
            ("doctor", "--all"),
            ("query", "from raw.calls"),
            ("query", "from raw.turns", "--format", "json"),
            ("report", "--out-dir", str(tmp_path / "site")),
            ("summarize", "--run-tag", "tiny", "--out-dir", str(tmp_path / "summary")),
            ("export", "--format", "jsonl", "--out-dir", str(tmp_path / "jsonl")),
            ("build", "--from-journals"),
        ):
            done = debatebench(root, *command, environ=environ)
            assert "Traceback" not in done.err
            assert done.code in (0, 3, 5), (command, done.err)
            said.append(done.out + done.err)
    journal = root / "warehouse" / "journal" / "tiny.jsonl"
    statuses = {
        row["status"] for event in read_journal(journal) for row in event.data.get("records", {}).get("calls", ())
    }
    assert {"answered", "retried", "ambiguous", "failed", "refused"} <= statuses
    assert echoing.echoes == ECHOES.keys() | LAST.keys()
    assert any("[redacted]" in each for each in said)
    assert told(tmp_path) == []
    assert not any(_tells(line) for text in said for line in set(text.splitlines()))


@pytest.mark.parametrize("name", ECHOES | LAST)
def test_what_a_failure_says_and_its_journal_hold_no_key(name: str, tmp_path: Path) -> None:
    echo = (ECHOES | LAST)[name]
    forms = ESCAPES if name.startswith("escapes") else FORMS
    waiting = cycle(forms.values())
    once = RetryPolicy(declined=0, ambiguous=0, empty=0, busy_s=0.0, failures_in_a_row=0)
    said = CANARY if name.startswith("escapes") else None
    with FakeProvider(lambda received: echo(said or next(waiting)(CANARY), received)) as server:
        session = Session(tmp_path, server)
        for number in range(len(forms)):
            try:
                shown = repr(session.ask(Step(f"d{number}", "turn:0", "turn"), policy=once))
            except DebatebenchError as failure:
                shown = "".join(traceback.format_exception(failure)) + repr(vars(failure))
            assert not finds(shown, CANARY), number
    for event in read_journal(session.path):
        assert not any(finds(text, CANARY) for text in _texts(event.data)), event.data
