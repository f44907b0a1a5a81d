"""A call is answered at most once: retried when that is safe, replayed when it is known, and never bought again."""

from __future__ import annotations

import asyncio
import hashlib
import json
import threading
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from call_session import CANARY, REQUEST, STEP, Session
from fake_provider import (
    Behaviour,
    FakeProvider,
    Received,
    Script,
    answer,
    cut,
    delayed,
    error_in_200,
    hang_up,
    html,
    redirect,
    status,
)
from hypothesis import given
from hypothesis import strategies as st
from patience import LONGEST_WAIT_S

from debatebench.config.answer_form import AnswerForm
from debatebench.config.load import MemberConfig, Pricing
from debatebench.config.types import DimensionConfig
from debatebench.journal.reading import read_journal
from debatebench.play.attempts import call_id_of
from debatebench.play.calls import DurableCalls, RunStoppedError
from debatebench.play.resume import Resume
from debatebench.play.retries import RetryPolicy
from debatebench.providers.asking import Answer, CallFailedError, Step
from debatebench.providers.base import Completion, FailureKind, Message, Request
from debatebench.providers.prices import cost_of
from debatebench.providers.requests import seed_of, short_hash
from debatebench.shared.errors import DebatebenchError
from debatebench.shared.records import Call


def asked(tmp_path: Path, script: Script, **options: Any) -> tuple[Session, int, Answer | DebatebenchError]:
    """Ask once against a server with this script: the session, the requests that arrived, and how it ended."""
    with FakeProvider(script) as server:
        session = Session(tmp_path, server)
        try:
            ended: Answer | DebatebenchError = session.ask(**options)
        except DebatebenchError as error:
            ended = error
        return session, len(server.requests), ended


def test_an_intent_is_journalled_before_and_the_raw_reply_before_its_outcome(tmp_path: Path):
    session, _, ended = asked(tmp_path, ["Hello."])
    assert isinstance(ended, Answer)
    assert ended.completion.text == "Hello."
    assert session.types() == ["intent", "response", "outcome"]


def test_an_answer_in_the_journal_is_never_bought_again(tmp_path: Path):
    with FakeProvider(["Hello.", "Something else."]) as server:
        session = Session(tmp_path, server)
        first = session.ask()
        events = session.types()
        assert session.ask() == first
        assert len(server.requests) == 1
        assert session.types() == events


def test_another_step_or_another_request_is_another_call(tmp_path: Path):
    with FakeProvider(["One.", "Two.", "Three."]) as server:
        session = Session(tmp_path, server)
        said = [
            session.ask().completion.text,
            session.ask(Step("d1", "turn:1", "turn")).completion.text,
            session.ask(STEP, Request("m", (Message("user", "Speak up."),))).completion.text,
        ]
    assert said == ["One.", "Two.", "Three."]


@given(st.tuples(*[st.text(max_size=6)] * 3), st.tuples(*[st.text(max_size=6)] * 3))
def test_call_ids_are_equal_only_for_equal_places(one: tuple[str, str, str], other: tuple[str, str, str]):
    ids = [call_id_of(tag, Step(debate, name, "turn"), REQUEST) for tag, debate, name in (one, other)]
    assert (ids[0] == ids[1]) == (one == other)


def test_hashes_and_ids_stay_what_the_journals_of_earlier_versions_hold():
    dimensions = {"clarity": DimensionConfig(min="0.5", max=3), "logic": DimensionConfig()}
    speech = Request(
        "m-1",
        (Message("system", "Argue."), Message("user", 'Café \u2014 \x7f "now"\n')),
        temperature=0.7,
        max_tokens=400,
        seed=7,
        parameters={"top_p": 1e-05, "debatebench": {"task": "speech", "category": None, "ask": 0}},
    )
    verdict = Request(
        "j-1",
        (Message("user", "Judge."),),
        temperature=0.0,
        seed=2**31 - 1,
        json_schema=AnswerForm(dimensions, ("con", "pro"), declares_winner=True).schema(),
        parameters={
            "stop": ["a", "b"],
            "logit_bias": {"50256": -100},
            "debatebench": {"task": "verdict", "dimensions": {"clarity": {"min": 0.5, "max": 3}}},
        },
    )
    assert speech.sha256() == "06910033f81b3703a9fa62eb485f9781a758f95f602a0ac27876bcf22f2ad9a0"
    assert verdict.sha256() == "baa8c6bc570de89355d26753dd79e63eff7b3743c1d254c40deb82be74b30d29"
    ids = [call_id_of("run", STEP, request) for request in (speech, verdict)]
    assert ids == [
        "4d43c65773fe0b22f51076280acedfa9b5f00cb6eaf0e16b10e2e3043a1a1a52",
        "135ca8aded93f039ce387b901a9280bf82fdad1a13d6dd585cb9efa915c30cbe",
    ]
    assert seed_of(12345, "turn:3") == 39856725
    assert short_hash("a", "b\ud800") == "18d572c390080469533c50953b7a202b"


@pytest.mark.parametrize(
    "parameters",
    [
        {"a": {10: 1, 2: 2}},
        {"a": float("nan"), "b": [None, float("inf")]},
        {"a": [1e16, 1e15, 1e-4, 9.9e-5, -0.0, 2**70]},
        {"a": ({"b": "\ud800", "\u00e9": "\x7f"}, True)},
    ],
)
def test_a_request_is_hashed_as_the_standard_library_writes_it(parameters: dict[str, Any]):
    fields = {
        "json_schema": None,
        "max_tokens": None,
        "messages": [{"content": "Speak.", "role": "user"}],
        "model": "m",
        "parameters": parameters,
        "seed": None,
        "temperature": None,
    }
    text = json.dumps(fields, sort_keys=True, separators=(",", ":"))
    request = Request("m", REQUEST.messages, parameters=parameters)
    assert request.sha256() == hashlib.sha256(text.encode("ascii")).hexdigest()


@pytest.mark.parametrize("trouble", [status(429), status(500), status(503), status(529), error_in_200(503)])
def test_a_provider_that_declines_for_now_is_asked_again(tmp_path: Path, trouble: Any):
    session, requests, ended = asked(tmp_path, [trouble, trouble, "Hello."])
    assert isinstance(ended, Answer)
    assert requests == 3
    assert session.statuses == ["retried", "retried", "answered"]
    assert len(session.waits) == 2


def test_a_wait_that_the_provider_asks_for_is_kept(tmp_path: Path):
    session, _, _ = asked(tmp_path, [status(429, headers={"retry-after": "7"}), "Hello."])
    assert session.waits == [7.0]


@pytest.mark.parametrize(
    ("trouble", "limit"),
    [(status(429), 5), (status(503), 5), (error_in_200(529), 5), (status(500), 8), (answer(""), 8)],
)
def test_a_provider_that_gets_too_much_gets_fewer_at_a_time(tmp_path: Path, trouble: Any, limit: int):
    everybody = threading.Barrier(8, timeout=LONGEST_WAIT_S)

    def script(received: Received) -> Any:
        if received.number >= 8:
            return "Hello."
        everybody.wait()
        return trouble

    with FakeProvider(script) as server:
        session = Session(tmp_path, server)

        async def many(calls: DurableCalls) -> None:
            steps = [Step("d1", f"turn:{n}", "turn") for n in range(8)]
            await asyncio.gather(*(calls(step, session.member, REQUEST) for step in steps))

        session.run(many)
        assert server.most_in_flight <= 8
        assert len(server.requests) == 16
    assert limit <= session.pacing.limit_of(session.member) <= 8
    assert (session.pacing.limit_of(session.member) < 8) == (limit < 8)


def test_waits_grow_and_are_capped():
    import random

    policy = RetryPolicy(first_wait_s=1, longest_wait_s=8)
    longest = [max(policy.wait_s(n, None, random.Random(seed)) for seed in range(200)) for n in range(1, 8)]
    assert all(0 < wait <= min(8, 2 ** (n - 1)) for n, wait in enumerate(longest, 1))
    assert longest[2] > 3
    assert policy.wait_s(1, 30.0, random.Random(0)) == 30.0


@pytest.mark.parametrize(
    ("trouble", "kind", "attempts"),
    [
        (status(500), FailureKind.RETRY, 6),
        (hang_up(), FailureKind.AMBIGUOUS, 4),
        (cut(), FailureKind.AMBIGUOUS, 4),
        (html(), FailureKind.AMBIGUOUS, 4),
        (answer(""), FailureKind.EMPTY, 3),
        (status(400), FailureKind.FAILED, 1),
        (status(404), FailureKind.FAILED, 1),
        (redirect("http://127.0.0.1:9/"), FailureKind.FAILED, 1),
        (answer("No.", choice={"finish_reason": "content_filter"}), FailureKind.REFUSED, 1),
    ],
    ids=["500", "hang up", "cut", "html", "empty", "400", "404", "redirect", "refused"],
)
def test_a_call_ends_after_as_many_attempts_as_its_trouble_allows(
    tmp_path: Path, trouble: Any, kind: FailureKind, attempts: int
):
    session, requests, ended = asked(tmp_path, [trouble])
    assert isinstance(ended, CallFailedError)
    assert ended.kind is kind
    assert requests == attempts == len(session.statuses)


def test_a_call_that_ended_is_not_asked_again_unless_told_to(tmp_path: Path):
    with FakeProvider([status(400), "Hello."]) as server:
        session = Session(tmp_path, server)
        for _ in range(2):
            with pytest.raises(CallFailedError, match="400"):
                session.ask()
        assert len(server.requests) == 1
        assert session.ask(retry_failed=True).completion.text == "Hello."
        assert session.ask().completion.text == "Hello."
        assert len(server.requests) == 2


def test_attempts_of_earlier_sessions_count(tmp_path: Path):
    with FakeProvider([status(500)]) as server:
        session = Session(tmp_path, server)
        for _ in range(2):
            with pytest.raises(CallFailedError):
                session.ask()
        assert len(server.requests) == 6
        with pytest.raises(CallFailedError):
            session.ask(retry_failed=True)
        assert len(server.requests) == 12


def test_a_bad_key_stops_everything_and_a_good_one_goes_on(tmp_path: Path):
    with FakeProvider([status(401, f"Incorrect API key provided: {CANARY}"), "Hello."]) as server:
        session = Session(tmp_path, server)

        async def two_calls(calls: DurableCalls) -> list[str]:
            said = []
            for number in range(2):
                with pytest.raises(RunStoppedError) as stopped:
                    await calls(Step("d1", f"turn:{number}", "turn"), session.member, REQUEST)
                said.append(str(stopped.value))
            return said

        said = session.run(two_calls)
        assert len(server.requests) == 1
        assert all("CANARY_API_KEY" in text and CANARY not in text for text in said)
        assert CANARY.encode() not in session.path.read_bytes()
        assert session.ask(Step("d1", "turn:0", "turn")).completion.text == "Hello."


def test_what_was_in_flight_at_a_stop_is_still_kept(tmp_path: Path):
    with FakeProvider([delayed(0.3, "Late.")]) as server:
        session = Session(tmp_path, server)

        async def stop_while_asking(calls: DurableCalls) -> tuple[Answer, BaseException]:
            asking = asyncio.create_task(calls(STEP, session.member, REQUEST))
            while not server.in_flight:  # noqa: ASYNC110
                await asyncio.sleep(0.01)
            calls.stop("Enough.")
            with pytest.raises(RunStoppedError, match="Enough") as refused:
                await calls(Step("d1", "turn:1", "turn"), session.member, REQUEST)
            return await asking, refused.value

        kept, _ = session.run(stop_while_asking)
    assert kept.completion.text == "Late."
    assert session.types() == ["intent", "response", "outcome"]


def test_never_more_requests_in_flight_than_allowed(tmp_path: Path):
    with FakeProvider([delayed(0.02)]) as server:
        session = Session(tmp_path, server)

        async def many(calls: DurableCalls) -> list[Answer]:
            steps = [Step("d1", f"turn:{n}", "turn") for n in range(20)]
            return await asyncio.gather(*(calls(step, session.member, REQUEST) for step in steps))

        assert len(session.run(many, concurrency=3)) == 20
        assert server.most_in_flight == 3


def test_an_attempt_that_died_with_its_process_is_listed_and_asked_again(tmp_path: Path):
    with FakeProvider(["Hello."]) as server:
        session = Session(tmp_path, server)
        session.ask()
        lines = session.path.read_bytes().splitlines(keepends=True)
        session.path.write_bytes(lines[0])
        resume = Resume()
        for event in read_journal(session.path):
            resume.see(event)
        assert resume.cut_short == 1
        assert session.ask().completion.text == "Hello."
        assert len(server.requests) == 2
        assert session.types() == ["intent", "intent", "response", "outcome"]


def test_a_reply_that_was_never_read_is_read_after_a_restart(tmp_path: Path):
    with FakeProvider(["Hello."]) as server:
        session = Session(tmp_path, server)
        first = session.ask()
        lines = session.path.read_bytes().splitlines(keepends=True)
        session.path.write_bytes(b"".join(lines[:2]))
        assert session.ask() == first
        assert len(server.requests) == 1
        assert session.types() == ["intent", "response", "outcome"]


def test_a_reply_that_is_no_text_is_kept_byte_for_byte(tmp_path: Path):
    def bytes_that_are_no_utf8(wire: Any) -> None:
        wire.send(200, {"content-type": "application/json"}, b"\xff\xfe{}")

    session, _, ended = asked(tmp_path, [bytes_that_are_no_utf8], policy=RetryPolicy(ambiguous=0))
    assert isinstance(ended, CallFailedError)
    import base64

    (kept,) = [e.data["body_base64"] for e in read_journal(session.path) if e.data["type"] == "response"]
    assert base64.b64decode(kept) == b"\xff\xfe{}"


def test_what_came_of_a_cut_reply_is_kept(tmp_path: Path):
    session, _, _ = asked(tmp_path, [cut(keep=20)], policy=RetryPolicy(ambiguous=0))
    assert [bool(e.data.get("partial_body_base64")) for e in read_journal(session.path)] == [False, True]


@pytest.mark.parametrize(
    "behaviour",
    [
        answer("Hello.", usage={"cost": 0.00123}),
        answer("Hello.", usage={"cost": 1e-12}),
        answer("Hello.", usage={"cost": 99999999.999999999999}),
        answer("Hello.", usage={"cost": None, "prompt_tokens": 7}),
        answer(
            "Hello.", usage={"cost": None, "prompt_tokens": 2**62, "completion_tokens": 2**62, "total_tokens": None}
        ),
        answer("", usage={"cost": 0.1}),
        answer("Hello.", id="\ud800", provider="Caf\xe9"),
        status(500),
        cut(keep=20),
    ],
)
def test_the_row_of_a_call_lands_as_it_was_journalled(tmp_path: Path, behaviour: Behaviour):
    session, _, _ = asked(tmp_path, [behaviour], policy=RetryPolicy(declined=0, ambiguous=0, empty=0, busy_s=0.0))
    (outcome,) = [event.data for event in read_journal(session.path) if event.data.get("of") == "call"]
    (row,) = outcome["records"]["calls"]
    landed = Call.model_validate(row)
    assert landed.model_dump(mode="json", exclude_defaults=True) == row


@pytest.mark.parametrize(
    ("told", "cost", "source"),
    [
        (Completion("x", cost=Decimal("0.5"), prompt_tokens=1, completion_tokens=1), Decimal("0.5"), "billed"),
        (Completion("x", cost=Decimal(0), prompt_tokens=1, completion_tokens=1), Decimal(0), "billed"),
        (Completion("x", prompt_tokens=3, completion_tokens=2), Decimal("0.007"), "estimated"),
        (Completion("x", prompt_tokens=3), None, None),
        (Completion("x"), None, None),
        (Completion("x", prompt_tokens=10**11, completion_tokens=1), None, None),
    ],
)
def test_a_cost_is_billed_or_estimated_or_unknown_and_never_a_made_up_zero(
    told: Completion, cost: Decimal | None, source: str | None
):
    priced = MemberConfig(
        id="m",
        provider="http",
        model="m",
        pricing=Pricing(prompt=Decimal("0.001"), completion=Decimal("0.002")),
    )
    assert cost_of(told, priced)[:2] == (cost, source)


def test_the_progress_counts_what_is_known_and_what_is_not(tmp_path: Path):
    session, _, _ = asked(
        tmp_path,
        [
            status(500),
            answer("Hello.", usage={"prompt_tokens": 2, "completion_tokens": 1, "total_tokens": 3, "cost": None}),
        ],
    )
    assert session.progress.calls_answered == 1
    assert session.progress.calls_failed == 1
    assert session.progress.calls_in_flight == 0
    assert session.progress.cost == Decimal("0.004")


def test_a_stop_that_was_not_read_before_a_kill_does_not_stop_the_next_session(tmp_path: Path):
    with FakeProvider([status(402), "Hello."]) as server:
        session = Session(tmp_path, server)
        with pytest.raises(RunStoppedError):
            session.ask()
        lines = session.path.read_bytes().splitlines(keepends=True)
        session.path.write_bytes(b"".join(lines[:2]))
        assert session.ask().completion.text == "Hello."
        assert session.statuses == ["stopped", "answered"]
        assert len(server.requests) == 2
