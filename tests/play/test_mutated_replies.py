"""Whatever a reply holds, it becomes an answer or a failure, is recorded and lands; no other call is lost by it."""

from __future__ import annotations

import asyncio
import copy
import json
import random
from collections.abc import Collection, Iterator
from contextlib import suppress
from datetime import datetime
from pathlib import Path
from typing import Any

import duckdb
import pytest
from call_session import REQUEST, STEP
from imported import land_records

from debatebench.config.load import MemberConfig
from debatebench.journal.reading import read_journal
from debatebench.journal.writing import Journal
from debatebench.landing.land import create_raw_tables
from debatebench.play.calls import DurableCalls
from debatebench.play.pacing import Pacing
from debatebench.play.progress import Progress
from debatebench.play.resume import Resume
from debatebench.play.retries import RetryPolicy
from debatebench.providers import openai_reply
from debatebench.providers.asking import CallFailedError, Step
from debatebench.providers.base import Completion, ProviderFailure, Reply, Request
from debatebench.providers.openai_compatible import OpenAICompatible
from debatebench.providers.openai_reply import ReplySource, read_reply
from debatebench.providers.profiles import PROFILES
from debatebench.providers.redaction import without_keys_in_bytes
from debatebench.shared.records import Call, Run

# Asks once, whatever comes.
ONCE = RetryPolicy(declined=0, ambiguous=0, empty=0, busy_s=0.0, failures_in_a_row=0)
NOON = datetime(2026, 1, 2, 12)
SOURCE = ReplySource("http", "A_KEY", reports_usd=True, keys=("sk-canary-0123456789",), cost_header="x-cost")
READER = OpenAICompatible("http", "http://127.0.0.1:1/v1", PROFILES["openrouter"], key="sk-canary-0123456789")
ASKING = Request("m", REQUEST.messages, temperature=0.5, max_tokens=9, seed=1, json_schema={"type": "object"})
USAGE = {
    "prompt_tokens": 9,
    "completion_tokens": 4,
    "total_tokens": 13,
    "prompt_tokens_details": {"cached_tokens": 3},
    "completion_tokens_details": {"reasoning_tokens": 1},
    "cost": 0.25,
    "cost_details": {"upstream_inference_cost": 0.2, "parts": [1, 2.5, None]},
}
WHOLE = {
    "id": "gen-1",
    "model": "served",
    "provider": "Up",
    "service_tier": "flex",
    "choices": [
        {
            "index": 0,
            "finish_reason": "stop",
            "native_finish_reason": "end",
            "message": {
                "role": "assistant",
                "content": [{"type": "thinking", "thinking": "Hm."}, {"type": "text", "text": "Hello."}],
                "reasoning_details": [{"text": "Hm."}],
                "tool_calls": [{"function": {"name": "answer", "arguments": "{}"}}],
            },
        }
    ],
    "usage": USAGE,
}
REFUSED = {
    "error": {"message": "Unsupported parameter: 'seed'.", "param": "seed", "details": [{"loc": ["body", "seed"]}]}
}
ERROR = {"error": {"message": "Slow down.", "code": 429, "metadata": {"raw": '{"error": {}}', "provider_name": "Up"}}}
STREAM = [
    {"choices": [{"index": 0, "delta": {"role": "assistant", "content": "Hel"}}]},
    {"choices": [{"index": 0, "delta": {"content": "lo."}, "finish_reason": "stop"}]},
    {"choices": [], "usage": USAGE},
]
# Numbers as text, because no Python number is written so.
NUMBERS = ("1e999999999", "-1e999999999", "1e-999999999", "NaN", "-Infinity", "9" * 5000, "-0", "0.1e400", "1" * 30)
VALUES: tuple[Any, ...] = (
    None, True, False, 0, -1, 1.5, 10**18, "", "0", "12", "\ud800", "\x00\x1b[2J", "a" * 3000,
    [], {}, [[]], [None], {"": ""},
)  # fmt: skip


def deep(levels: int) -> str:
    return '{"a":' * levels + "1" + "}" * levels


def places(value: Any) -> Iterator[tuple[Any, Any]]:
    """Every (container, key) within a JSON value."""
    for key, item in value.items() if isinstance(value, dict) else enumerate(value):
        yield value, key
        if isinstance(item, dict | list):
            yield from places(item)


def mutated(draw: random.Random) -> tuple[int, bytes]:
    """The status and body of a reply that was right before some of its values, or bytes, were changed."""
    original = draw.choice((WHOLE, WHOLE, STREAM, ERROR, REFUSED))
    value = copy.deepcopy(original)
    literals: dict[str, str] = {}
    for number in range(draw.randint(1, 3)):
        within = list(places(value))
        if not within:
            break
        container, key = draw.choice(within)
        kind = draw.randrange(5)
        if kind == 0:
            container[key] = mark = f"<{number}>"
            literals[json.dumps(mark)] = draw.choice((*NUMBERS, deep(450), deep(900), deep(3_000), "[" * 3_000))
        elif kind == 1 and isinstance(container, dict):
            del container[key]
        elif kind == 2:
            container[key] = [container[key], copy.deepcopy(container[key])]
        else:
            container[key] = copy.deepcopy(draw.choice(VALUES))
    if isinstance(value, list) and original is STREAM:
        text = "".join(f"data: {json.dumps(each)}\n\n" for each in value) + "data: [DONE]\n\n"
    else:
        text = json.dumps(value)
    for mark, literal in literals.items():
        text = text.replace(mark, literal)
    body = bytearray(text.encode())
    if draw.random() < 0.2:
        for _ in range(draw.randint(1, 4)):
            body[draw.randrange(len(body))] = draw.randrange(256)
    if draw.random() < 0.1:
        del body[draw.randrange(len(body)) :]
    return draw.choice((*[200] * 9, 400, 429, 500)), bytes(body)


def reply_with(status: int, body: bytes, cost: str = "") -> Reply:
    return Reply(status, body, {"x-cost": cost}, NOON, 1.0)


class Mutant:
    """A provider of mutated replies, one for each step."""

    name = "http"
    is_simulated = False

    def __init__(self, replies: dict[str, Reply]) -> None:
        self.replies = replies
        self.sent: list[str] = []

    async def send(self, request: Request, *_: Any) -> Reply:
        self.sent.append(request.model)
        return self.replies[request.model]

    def read(self, reply: Reply, request: Request | None = None, adjusted: Collection[str] = ()) -> Completion:
        return READER.read(reply, request, adjusted)

    async def aclose(self) -> None:
        pass


def play(path: Path, provider: Mutant) -> dict[str, str]:
    """One session that asks for every reply; how each call ended."""
    ended: dict[str, str] = {}
    member = MemberConfig(id="m", provider="http", model="m", endpoint="http://127.0.0.1:1/v1")

    async def session() -> None:
        resume = Resume()
        with Journal.open(path, resume.see) as journal:
            calls = DurableCalls(
                "run",
                journal,
                resume,
                lambda _: provider,
                # All at once, so that few syncs are waited for.
                pacing=Pacing(len(provider.replies), [member], has_answered=lambda _: True),
                now=lambda: NOON,
                progress=Progress(),
                policy=ONCE,
            )

            async def ask(name: str) -> None:
                try:
                    await calls(Step(name, STEP.name, STEP.purpose), member, Request(name, REQUEST.messages))
                    ended[name] = "answered"
                except CallFailedError as failed:
                    ended[name] = failed.kind.name

            await asyncio.gather(*map(ask, provider.replies))

    asyncio.run(session())
    return ended


def kept_calls(path: Path) -> list[Call]:
    return [
        Call.model_validate(row)
        for event in read_journal(path)
        if event.data.get("of") == "call"
        for row in event.data["records"]["calls"]
    ]


@pytest.mark.slow
def test_20000_mutated_replies_are_answers_or_failures() -> None:
    draw = random.Random(1)
    answered = 0
    for _ in range(20_000):
        status, body = mutated(draw)
        assert without_keys_in_bytes(body, SOURCE.keys) == body
        with suppress(ProviderFailure):
            READER.read(reply_with(status, body), ASKING)
        with suppress(ProviderFailure):
            read_reply(reply_with(status, body, draw.choice(("", "0.1", *NUMBERS))), SOURCE)
            answered += 1
    assert 4_000 < answered < 15_000


@pytest.mark.slow
def test_20000_mutated_replies_are_recorded_and_land_and_are_not_asked_for_again(tmp_path: Path) -> None:
    draw = random.Random(2)
    provider = Mutant({f"d{number}": reply_with(*mutated(draw)) for number in range(20_000)})
    path = tmp_path / "run.jsonl"
    ended = play(path, provider)
    assert ended.keys() == provider.replies.keys()
    assert {"answered", "AMBIGUOUS", "EMPTY"} <= set(ended.values())
    calls = kept_calls(path)
    assert len(calls) == len(provider.replies)
    with duckdb.connect() as con:
        create_raw_tables(con)
        land_records(con, "run", [Run(run_tag="run", source="run", format="tournament"), *calls])
        assert con.execute("select count(*), count(distinct debate_id) from raw.calls").fetchall() == [(20_000, 20_000)]
    assert len(provider.sent) == 20_000
    again = play(path, provider)
    assert again == ended
    assert {ended[name] for name in provider.sent[20_000:]} == {"RETRY"}, "only overload is asked again"


def test_a_figure_that_defeats_its_reader_is_unknown_and_the_answer_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    def defeated(*_: Any, **__: Any) -> Any:
        raise RecursionError

    monkeypatch.setattr(openai_reply, "read_usage", defeated)
    monkeypatch.setattr(openai_reply, "_cost", defeated)
    completion = read_reply(reply_with(200, json.dumps(WHOLE).encode()), SOURCE)
    assert (completion.text, completion.prompt_tokens, completion.total_tokens, completion.cost) == (
        "Hello.", None, None, None,
    )  # fmt: skip


def test_a_reply_that_defeats_the_reader_ends_its_call_and_no_other(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    read = openai_reply._completion

    def defeated(data: dict[str, Any], *rest: Any) -> Completion:
        if data["id"] == "odd":
            raise OverflowError("too large")
        return read(data, *rest)

    monkeypatch.setattr(openai_reply, "_completion", defeated)
    bodies = {"one": WHOLE, "two": {**WHOLE, "id": "odd"}, "three": WHOLE}
    provider = Mutant({name: reply_with(200, json.dumps(body).encode()) for name, body in bodies.items()})
    path = tmp_path / "run.jsonl"
    assert play(path, provider) == {"one": "answered", "two": "AMBIGUOUS", "three": "answered"}
    (odd,) = (call for call in kept_calls(path) if call.debate_id == "two")
    assert (odd.status, odd.error) == (
        "ambiguous",
        "http answered 200 with a body that cannot be read (OverflowError).",
    )
    monkeypatch.setattr(openai_reply, "_completion", read)
    assert play(path, provider)["two"] == "answered", "a version that can read it finds it in the journal"
    assert len(provider.sent) == 3


def test_a_journal_that_ends_with_a_reply_that_no_version_could_read_goes_on(tmp_path: Path) -> None:
    body = json.dumps(WHOLE).replace("13", "1e999999999").encode()
    provider = Mutant({"one": reply_with(200, body)})
    path = tmp_path / "run.jsonl"
    assert play(path, provider) == {"one": "answered"}
    # The version that failed had written the reply, and no outcome.
    *kept, outcome = path.read_bytes().splitlines(keepends=True)
    assert b'"outcome"' in outcome
    path.write_bytes(b"".join(kept))
    assert play(path, provider) == {"one": "answered"}
    assert len(provider.sent) == 1
    (call,) = kept_calls(path)
    assert (call.status, call.total_tokens) == ("answered", 13)


@pytest.mark.parametrize("literal", [deep(100_000), "[" * 1_000_000, "9" * 1_000_000])
def test_a_figure_of_any_depth_and_length_ends_no_more_than_its_call(literal: str, tmp_path: Path) -> None:
    odd = json.dumps(WHOLE).replace("13", literal).encode()
    bodies = {"one": json.dumps(WHOLE).encode(), "two": odd}
    provider = Mutant(
        {name: reply_with(200, without_keys_in_bytes(body, SOURCE.keys)) for name, body in bodies.items()}
    )
    ended = play(tmp_path / "run.jsonl", provider)
    assert ended.keys() == bodies.keys()
    assert ended["one"] == "answered"
    assert ended["two"] in ("answered", "AMBIGUOUS")
