"""A request whose optional field a server refuses is sent once more without it, and the run remembers that."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import duckdb
import msgspec
import pytest
from call_session import REQUEST, Session
from fake_provider import Behaviour, FakeProvider, Received, answer, status
from tournament import KEY, good_answers, is_judge, play, write_workspace

from debatebench.config.types import MemberConfig
from debatebench.journal.reading import read_journal
from debatebench.journal.writing import Journal
from debatebench.play.calls import DurableCalls
from debatebench.play.probe import probe_members
from debatebench.play.retries import RetryPolicy
from debatebench.providers.asking import Answer, CallFailedError, Step

FULL = msgspec.structs.replace(REQUEST, temperature=0.7, max_tokens=90, seed=7)
OTHER = Step("d2", "turn:0", "turn")
NO_RETRIES = RetryPolicy(declined=0, ambiguous=0, empty=0, busy_s=0.0)


def refused(field: str, message: str = "Unsupported parameter.") -> Behaviour:
    return status(400, message, param=field, code="unsupported_parameter")


def picky(*fields: str) -> Any:
    """A server that refuses each of these fields, one at a time."""

    def script(received: Received) -> Behaviour:
        sent = [field for field in fields if field in received.json]
        return refused(sent[0]) if sent else answer("Hello.")

    return script


def sent_fields(server: FakeProvider) -> list[set[str]]:
    return [set(received.json) - {"model", "messages"} for received in server.requests]


def intents(session: Session) -> list[list[str]]:
    return [event.data.get("adjusted", []) for event in read_journal(session.path) if event.data["type"] == "intent"]


def test_a_refused_field_is_left_out_of_the_next_attempt_and_of_all_later_calls(tmp_path: Path):
    with FakeProvider(picky("seed")) as server:
        session = Session(tmp_path, server)
        assert session.ask(request=FULL).completion.text == "Hello."
        # A later session knows it from the journal.
        assert session.ask(OTHER, FULL).completion.text == "Hello."
        assert sent_fields(server) == [
            {"temperature", "max_tokens", "seed"},
            {"temperature", "max_tokens"},
            {"temperature", "max_tokens"},
        ]
    assert intents(session) == [[], ["seed"], ["seed"]]
    assert session.statuses == ["retried", "answered", "answered"]
    assert session.waits == []


def test_refused_fields_count_as_no_failure_and_each_is_left_out_once(tmp_path: Path):
    fields = ("temperature", "seed", "max_tokens")
    with FakeProvider(picky(*fields)) as server:
        session = Session(tmp_path, server)
        assert session.ask(request=FULL, policy=NO_RETRIES).completion.text == "Hello."
        assert sent_fields(server)[-1] == {"max_completion_tokens"}
    assert session.statuses == ["retried"] * 3 + ["answered"]
    assert intents(session)[-1] == sorted(fields)


@pytest.mark.parametrize("field", ["seed", "temperature", "max_tokens"])
def test_a_server_that_refuses_a_field_for_ever_is_asked_twice(tmp_path: Path, field: str):
    with FakeProvider([refused(field)]) as server:
        session = Session(tmp_path, server)
        for requests in (2, 2):
            with pytest.raises(CallFailedError, match="Unsupported parameter"):
                session.ask(request=FULL)
            assert len(server.requests) == requests
        with pytest.raises(CallFailedError):
            session.ask(request=FULL, retry_failed=True)
        assert len(server.requests) == 3
    assert session.statuses == ["retried", "failed", "failed"]


def test_the_text_of_the_system_role_moves_to_the_first_user_message(tmp_path: Path):
    def script(received: Received) -> Behaviour:
        roles = [message["role"] for message in received.json["messages"]]
        return status(400, "System role not supported") if "system" in roles else answer(received.prompt)

    messages = (msgspec.structs.replace(REQUEST.messages[0], role="system", content="Argue."), *REQUEST.messages)
    with FakeProvider(script) as server:
        session = Session(tmp_path, server)
        answered = session.ask(request=msgspec.structs.replace(REQUEST, messages=messages))
    assert answered.completion.text == "Argue.\n\nSpeak."


@pytest.mark.parametrize("kept", range(7))
def test_a_restart_at_any_moment_repeats_the_same_decisions(tmp_path: Path, kept: int):
    """The journal of a call with one refusal has six events; a process may die after any of them."""
    with FakeProvider(picky("seed")) as server:
        session = Session(tmp_path, server)
        session.ask(request=FULL)
        assert session.types() == ["intent", "response", "outcome"] * 2
        events = [event.data for event in read_journal(session.path)][:kept]
        session.path.unlink()
        with Journal.open(session.path) as journal:
            for event in events:
                journal.append({name: value for name, value in event.items() if name not in ("seq", "at")})
        before = len(server.requests)
        assert isinstance(session.ask(request=FULL), Answer)
        # An attempt that was cut short is repeated, and everything with a reply is not.
        assert len(server.requests) - before == {0: 2, 1: 2, 2: 1, 3: 1, 4: 1, 5: 0, 6: 0}[kept]
        assert "seed" not in server.requests[-1].json
    answered = {row["status"] for event in events_of(session) for row in event["records"]["calls"]}
    assert answered <= {"retried", "answered"}


def events_of(session: Session) -> list[dict[str, Any]]:
    return [event.data for event in read_journal(session.path) if event.data.get("of") == "call"]


def test_a_call_that_an_older_version_gave_up_for_a_refused_field_is_asked_again(tmp_path: Path):
    with FakeProvider(picky("seed")) as server:
        session = Session(tmp_path, server)
        session.ask(request=FULL)
        events = [event.data for event in read_journal(session.path)][:3]
        events[2]["records"]["calls"][0]["status"] = "failed"
        session.path.unlink()
        with Journal.open(session.path) as journal:
            for event in events:
                journal.append({name: value for name, value in event.items() if name not in ("seq", "at")})
        assert session.ask(request=FULL).completion.text == "Hello."
        assert len(server.requests) == 3
    assert session.statuses == ["failed", "answered"]


def test_calls_that_wait_are_adjusted_before_they_are_sent(tmp_path: Path):
    with FakeProvider(picky("seed")) as server:
        session = Session(tmp_path, server)

        async def many(calls: DurableCalls) -> None:
            await asyncio.gather(*(calls(Step("d", f"turn:{n}", "turn"), session.member, FULL) for n in range(9)))

        session.run(many, concurrency=1)
        assert sum("seed" in received.json for received in server.requests) == 1
        assert len(server.requests) == 10


def test_a_run_tells_what_it_left_out_and_records_it_with_every_attempt(tmp_path: Path):
    def script(received: Received) -> Behaviour:
        return refused("seed") if is_judge(received) and "seed" in received.json else good_answers(received)

    with FakeProvider(script) as server:
        root = write_workspace(tmp_path, server, judges=2)
        done = play(root, "--no-build", "--concurrency", "1")
        assert done.code == 0, done.err
        assert len(server.requests) == 48 + 2
        again = play(root, "--no-build")
        assert len(server.requests) == 48 + 2
    for shown in (done, again):
        (line,) = [line for line in shown.err.splitlines() if "refuses" in line]
        assert "judge-0 of http (seed); judge-1 of http (seed)" in line
    with duckdb.connect(str(root / "warehouse" / "debatebench.duckdb"), read_only=True) as con:
        found = con.execute("select purpose, status, adjusted, count(*) from raw.calls group by all order by all")
        assert found.fetchall() == [
            ("turn", "answered", None, 24),
            ("verdict", "answered", ["seed"], 24),
            ("verdict", "retried", None, 2),
        ]


def test_a_probe_is_adjusted_too(tmp_path: Path):
    with FakeProvider(picky("seed", "temperature")) as server:
        member = MemberConfig(id="m", provider="http", model="m", endpoint=server.url, api_key_env="TINY_API_KEY")
        (probe,) = asyncio.run(probe_members([member], {"TINY_API_KEY": KEY}))
        assert probe.answers
        assert len(server.requests) == 3
