"""Providers that are down, overloaded or reject everything: the run waits, or stops before it buys what is useless."""

from __future__ import annotations

import re
import threading
import time
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from call_session import QUICK, REQUEST, STEP, Session
from command_line import debatebench
from fake_provider import Behaviour, FakeProvider, Received, answer, status
from tournament import KEY, good_answers, play, write_workspace

from debatebench.journal.reading import read_journal
from debatebench.play.calls import RunStoppedError
from debatebench.play.retries import RetryPolicy
from debatebench.providers.asking import CallFailedError
from debatebench.providers.base import FailureKind

pytestmark = pytest.mark.slow

CALLS = 48


def attempts(root: Path) -> list[dict[str, Any]]:
    events = read_journal(root / "warehouse" / "journal" / "tiny.jsonl")
    return [row for event in events for row in event.data.get("records", {}).get("calls", ())]


def answered_twice(root: Path) -> list[str]:
    answered = Counter(row["call_id"] for row in attempts(root) if row["status"] == "answered")
    return [call_id for call_id, count in answered.items() if count > 1]


# --- overload ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("code", [429, 498, 503, 529])
def test_an_overloaded_provider_that_names_no_time_is_asked_until_it_answers(tmp_path: Path, code: int):
    with FakeProvider([*[status(code)] * 14, "At last."]) as server:
        session = Session(tmp_path, server)
        patient = RetryPolicy(first_wait_s=1.0, longest_wait_s=60.0)
        assert session.ask(policy=patient).completion.text == "At last."
        assert session.statuses == ["retried"] * 14 + ["answered"]
        assert 60.0 < sum(session.waits) <= 660.0, "a window of a minute has passed"
        assert max(session.waits) > 4 * max(session.waits[:3]), "the waits grow"


def test_a_provider_that_stays_overloaded_ends_the_call_and_a_later_session_asks_again(tmp_path: Path):
    overloaded = [True]
    with FakeProvider(lambda _: status(429) if overloaded else answer("At last.")) as server:
        session = Session(tmp_path, server)
        with pytest.raises(CallFailedError) as ended:
            session.ask(policy=RetryPolicy(busy_s=120.0))
        assert ended.value.kind is FailureKind.RETRY
        assert 120.0 <= sum(session.waits) <= 180.0
        overloaded.clear()
        assert session.ask().completion.text == "At last."


def test_errors_that_waiting_does_not_mend_still_end_a_call_after_a_few_attempts(tmp_path: Path):
    with FakeProvider([status(500)]) as server:
        session = Session(tmp_path, server)
        with pytest.raises(CallFailedError):
            session.ask(policy=QUICK)
        assert len(server.requests) == 6


# --- a provider that cannot be reached --------------------------------------------------------------------------------


def test_a_run_waits_for_a_server_that_goes_down_and_buys_nothing_twice(tmp_path: Path):
    first = FakeProvider(good_answers)
    with first:
        root = write_workspace(tmp_path, first)
        first.hold(10)
        done: list[Any] = []
        runner = threading.Thread(target=lambda: done.append(play(root, "--no-build", "--concurrency", "4")))
        runner.start()
        while len(first.requests) <= 10:
            time.sleep(0.005)
    time.sleep(1.5)
    with FakeProvider(good_answers, first.port):
        runner.join()
    assert done[0].code == 0, done[0].err
    assert "Waiting for it, up to 10 min" in done[0].err
    assert answered_twice(root) == []
    statuses = Counter(row["status"] for row in attempts(root))
    assert statuses["answered"] == CALLS
    assert 1 <= statuses["unsent"] <= 4 + 5, "while the server is down, one request at a time tries"


def test_a_run_that_has_waited_in_vain_is_resumed_by_the_same_command(tmp_path: Path):
    first = FakeProvider(lambda r: good_answers(r) if r.number < 10 else status(503))
    with first:
        root = write_workspace(tmp_path, first)
        assert play(root, "--no-build", "--wait-for-limit", "0s", "--max-failures-in-a-row", "1").code == 5
    stopped = play(root, "--no-build", "--wait-for-provider", "0s")
    assert stopped.code == 5
    assert re.search(
        r"could not be reached .*--wait-for-provider.* to continue, run the same command", stopped.error_line
    )
    with FakeProvider(good_answers, first.port) as second:
        assert play(root, "--no-build").code == 0
        assert len(second.requests) == CALLS - 10
    assert answered_twice(root) == []


def test_a_retry_waits_for_limits_and_servers_as_a_run_does(tmp_path: Path):
    broken = [True]

    def script(received: Received) -> Behaviour:
        if broken:
            return status(400, "Moved.") if received.number == 3 else good_answers(received)
        return status(429, headers={"retry-after": "0"}) if received.number % 2 else good_answers(received)

    with FakeProvider(script) as server:
        root = write_workspace(tmp_path, server)
        assert play(root, "--no-build").code == 5
        broken.clear()
        done = debatebench(root, "retry", "tiny", "--no-build", environ={"TINY_API_KEY": KEY})
        assert done.code == 0, done.err
    assert any(row["status"] == "retried" for row in attempts(root))


# --- a member that gives nothing but errors ---------------------------------------------------------------------------


def broken_debater(received: Received) -> Behaviour:
    return status(400, "Out of memory.") if received.json["model"] == "debater-1" else good_answers(received)


def test_a_member_that_fails_again_and_again_stops_the_run_and_a_retry_mends_it(tmp_path: Path):
    broken = [True]

    def script(received: Received) -> Behaviour:
        return broken_debater(received) if broken else good_answers(received)

    with FakeProvider(script) as server:
        root = write_workspace(tmp_path, server)
        done = play(root, "--no-build", "--concurrency", "1", "--max-failures-in-a-row", "2")
        assert done.code == 5
        assert "2 calls of 'debater-1' in a row ended with errors" in done.error_line
        assert "Out of memory." in done.error_line
        assert "`debatebench retry tiny`" in done.error_line
        bought = sum(row["status"] == "answered" for row in attempts(root))
        assert bought < CALLS // 2
        broken.clear()
        assert play(root, "--no-build", "--retry-failed").code == 0
    assert answered_twice(root) == []
    assert sum(row["status"] == "answered" for row in attempts(root)) == CALLS


def test_an_answer_in_between_starts_the_count_of_failures_again(tmp_path: Path):
    def script(received: Received) -> Behaviour:
        fails = received.json["model"] == "debater-1" and "centres" in received.prompt
        return status(400, "No.") if fails else good_answers(received)

    with FakeProvider(script) as server:
        root = write_workspace(tmp_path, server)
        done = play(root, "--no-build", "--concurrency", "1", "--max-failures-in-a-row", "5")
        assert "debates of run 'tiny' are missing" in done.error_line


def test_the_first_request_to_a_model_goes_alone_and_a_wrong_parameter_stops_the_run_before_others(tmp_path: Path):
    def script(received: Received) -> Behaviour:
        if "effort" in received.json:
            time.sleep(0.05)
            return status(400, "Unrecognized request argument supplied: effort", param="effort")
        return good_answers(received)

    with FakeProvider(script) as server:
        root = write_workspace(tmp_path, server)
        models = root / "configs" / "models.yaml"
        models.write_text(models.read_text().replace("id: debater-1,", "id: debater-1, parameters: {effort: max},"))
        done = play(root, "--no-build", "--concurrency", "32")
        assert done.code == 5
        asked = Counter(r.json["model"] for r in server.requests)
        assert asked["debater-1"] == 1
        assert "Correct `effort` in the `parameters` of 'debater-1'" in done.error_line


@pytest.mark.parametrize("wrong", ["debater-2", "judge-0"])
def test_a_model_that_does_not_exist_is_told_at_its_first_request(tmp_path: Path, wrong: str):
    def script(received: Received) -> Behaviour:
        return status(404, "No endpoints found.") if received.json["model"] == wrong else good_answers(received)

    with FakeProvider(script) as server:
        done = play(write_workspace(tmp_path, server), "--no-build", "--concurrency", "1")
        assert done.code == 5
        assert f"Check `model` and `endpoint` of '{wrong}'" in done.error_line
        assert Counter(received.json["model"] for received in server.requests)[wrong] == 1


def test_a_first_request_that_is_rejected_for_another_reason_lets_the_next_go_alone(tmp_path: Path):
    with FakeProvider(lambda r: status(400, "Moved.") if r.number == 0 else good_answers(r)) as server:
        done = play(write_workspace(tmp_path, server), "--no-build")
    assert done.code == 5
    assert "1 of 12 debates" in done.error_line


def test_a_debate_that_was_refused_is_final_also_for_a_retry(tmp_path: Path):
    def script(received: Received) -> Behaviour:
        refuses = received.json["model"] == "debater-1" and "centres" in received.prompt
        refusal = status(403, "Content violates usage guidelines.")
        return refusal if refuses else good_answers(received)

    with FakeProvider(script) as server:
        root = write_workspace(tmp_path, server)
        assert play(root, "--no-build").code == 0
        asked = len(server.requests)
        assert play(root, "--no-build", "--retry-failed").code == 0
        assert len(server.requests) == asked


def test_a_failed_call_of_a_stopped_run_waits_for_nothing(tmp_path: Path):
    with FakeProvider([status(429)]) as server:
        session = Session(tmp_path, server)

        async def stopped(calls: Any) -> None:
            calls.stop("Enough.")
            await calls(STEP, session.member, REQUEST)

        with pytest.raises(RunStoppedError):
            session.run(stopped)
        assert server.requests == []


def test_a_debater_that_gave_nothing_but_thinking_is_asked_again_by_a_retry_and_only_by_it(tmp_path: Path):
    is_thinking = [True]

    def script(received: Received) -> Behaviour:
        thinks = is_thinking and received.json["model"] == "debater-1" and "centres" in received.prompt
        return answer("<think>Hm.</think>") if thinks else good_answers(received)

    with FakeProvider(script) as server:
        root = write_workspace(tmp_path, server)
        assert play(root, "--no-build").code == 5
        asked = len(server.requests)
        assert play(root, "--no-build").code == 5
        assert len(server.requests) == asked
        again = play(root, "--no-build", "--retry-failed")
        assert "none of 6 answers held more than thinking" in again.err
        is_thinking.clear()
        healed = play(root, "--no-build", "--retry-failed")
        assert healed.code == 0, healed.err
        asked = len(server.requests)
        assert play(root, "--no-build").code == 0
        assert len(server.requests) == asked
    assert answered_twice(root) == []
