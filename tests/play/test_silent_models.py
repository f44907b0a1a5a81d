"""Models, servers and proxies that stay silent: the entry's own time limit, a few requests in all, and a word about it.

No test here waits for longer than a small setting, and none depends on how long anything took: they count requests.
"""

from __future__ import annotations

import asyncio
import socket
from collections import Counter
from pathlib import Path

import pytest
from command_line import debatebench
from fake_provider import Behaviour, FakeProvider, Received, drip, silence
from tournament import KEY, good_answers, is_judge, play, write_workspace
from virtual_time import in_time, in_virtual_time, now

from debatebench.cli.progress_display import describe, silent
from debatebench.config.types import MemberConfig
from debatebench.journal.reading import read_journal
from debatebench.play.pacing import Admission, GivenUpError, Pacing
from debatebench.play.progress import Progress
from debatebench.providers.asking import Step

M = MemberConfig(id="m", provider="http", model="m", endpoint="http://127.0.0.1:1/v1", timeout=60.0)


async def admitted(*asking: asyncio.Task[Admission]) -> list[bool]:
    for _ in range(5):
        await asyncio.sleep(0)
    return [task.done() for task in asking]


def asks(pacing: Pacing, count: int) -> list[asyncio.Task[Admission]]:
    return [asyncio.ensure_future(pacing.admit(M)) for _ in range(count)]


# --- the pacing


@in_time
async def test_requests_that_were_in_flight_together_are_one_silence_and_the_next_goes_alone() -> None:
    pacing = Pacing(8, [M], clock=now)
    for lost in [await pacing.admit(M) for _ in range(3)]:
        assert lost.silent() == 1
        lost.release()
    first, second = asks(pacing, 2)
    assert await admitted(first, second) == [True, False]
    assert first.result().silent() == 2
    first.result().release()
    assert await admitted(second) == [True]


@in_time
async def test_a_reply_ends_the_silence_for_all_that_wait() -> None:
    pacing = Pacing(8, [M], clock=now)
    with await pacing.admit(M) as lost:
        lost.silent()
    first, *others = asks(pacing, 4)
    assert await admitted(first, *others) == [True, False, False, False]
    first.result().replied()
    assert await admitted(*others) == [True] * 3
    assert others[0].result().silent() == 1


@in_time
async def test_a_model_that_was_given_up_is_asked_for_nothing_more_and_holds_up_no_other() -> None:
    other = M.model_copy(update={"id": "other", "model": "other"})
    pacing = Pacing(1, [M, other], clock=now)
    with await pacing.admit(M) as lost:
        waiting = asks(pacing, 3)
        await admitted(*waiting)
        lost.give_up("Silent.")
    assert [str(task.exception()) for task in waiting if await admitted(task)] == ["Silent."] * 3
    with pytest.raises(GivenUpError, match="Silent"):
        await pacing.admit(M)
    assert (pacing.given_up(M), pacing.given_up(other)) == ("Silent.", None)
    (await pacing.admit(other)).release()


@in_time
async def test_an_entry_has_its_own_time_and_connecting_takes_at_most_a_third_of_it() -> None:
    slow = M.model_copy(update={"id": "slow", "timeout": 900.0})
    pacing = Pacing(8, [M, slow], clock=now)
    limits = [(await pacing.admit(who)).sends(who, 600.0) for who in (M, slow)]
    assert [(each.whole_s, each.connecting_s) for each in limits] == [(60.0, 20.0), (900.0, 30.0)]


@pytest.mark.parametrize("longest_s", [1.0, 10.0, 60.0, 100.0, 600.0])
def test_a_server_that_says_nothing_while_connecting_is_given_up_in_time(longest_s: float) -> None:
    """Each attempt takes all the time that it has; the last one ends when the run stops to wait."""

    async def play() -> tuple[int, float]:
        slow = M.model_copy(update={"timeout": 600.0})
        pacing, attempts = Pacing(8, [slow], clock=now), 0
        while True:
            attempts += 1
            with await pacing.admit(slow) as admission:
                await asyncio.sleep(admission.sends(slow, longest_s).connecting_s)
                if admission.unreachable(longest_s):
                    return attempts, now()

    attempts, ended_at = in_virtual_time(play)
    assert longest_s - 0.1 <= ended_at <= longest_s + 1.0
    assert attempts == {1.0: 1, 10.0: 1, 60.0: 2, 100.0: 4, 600.0: 13}[longest_s]


@in_time
async def test_an_attempt_that_was_sent_before_the_provider_was_reached_counts_from_then() -> None:
    pacing = Pacing(8, [M], clock=now)
    early, late = [await pacing.admit(M) for _ in range(2)]
    for each in (early, late):
        each.sends(M, 10.0)
    await asyncio.sleep(9)
    late.reached()
    await asyncio.sleep(2)
    assert not early.unreachable(10.0)


# --- the progress


def test_progress_says_who_is_silent_and_for_how_long() -> None:
    at = [0.0]
    progress = Progress(clock=lambda: at[0])
    for member in ("m0", "m0", "m1", "m2"):
        progress.call_sent(member)
    at[0] = 59.0
    assert silent(progress) == ""
    progress.call_returned("m1")
    progress.call_sent("m1")
    at[0] = 540.0
    progress.call_returned("m2")
    assert silent(progress) == "m0 silent for 9 min, m1 silent for 8 min"
    assert describe(progress).endswith("3 in flight, m0 silent for 9 min, m1 silent for 8 min")
    progress.call_returned("m0")
    assert silent(progress) == "m1 silent for 8 min", "one of its answers has come"


def test_a_silence_goes_on_through_attempts_that_were_late_and_ends_with_the_call() -> None:
    at = [0.0]
    progress = Progress(clock=lambda: at[0])
    for attempt in range(3):
        progress.call_sent("m0")
        at[0] += 20.0
        progress.call_returned("m0", is_late=True)
        assert silent(progress) == f"m0 silent for {20 * (attempt + 1)} s", "its own time is over, so it is silent"
    progress.call_given_up(Step("d1", "turn:0", "turn"), "m0")
    assert progress.silent() == []


def test_many_silent_members_are_counted() -> None:
    at = [0.0]
    progress = Progress(clock=lambda: at[0])
    for number in range(8):
        progress.call_sent(f"m{number}")
    at[0] = 600.0
    assert silent(progress).endswith("m4 silent for 10 min, 3 more silent")


# --- whole runs


def with_timeout(root: Path, seconds: float) -> Path:
    for name in ("models.yaml", "judges.yaml"):
        path = root / "configs" / name
        path.write_text(path.read_text().replace("provider: http", f"timeout: {seconds}, provider: http"))
    return root


def reasons(root: Path) -> list[str]:
    events = read_journal(root / "warehouse" / "journal" / "tiny.jsonl")
    rows = [row for event in events for row in event.data.get("records", {}).get("debates", ())]
    return [row["status_reason"] for row in rows if row.get("status") == "incomplete"]


@pytest.mark.slow_inputs
@pytest.mark.slow
@pytest.mark.parametrize("trouble", [silence(), silence(sends_head=True), drip(0.1)], ids=["silent", "head", "drip"])
def test_a_debater_that_stays_silent_costs_a_few_requests_and_the_others_are_played(tmp_path: Path, trouble: Behaviour):
    is_silent = [True]

    def script(received: Received) -> Behaviour:
        return trouble if is_silent and received.json["model"] == "debater-0" else good_answers(received)

    with FakeProvider(script) as server:
        root = with_timeout(write_workspace(tmp_path, server), 2.0)
        done = play(root, "--no-build", "--max-ambiguous-retries", "1")
        assert done.code == 5, done.err
        asked = Counter(received.json["model"] for received in server.requests)
        assert asked["debater-0"] == 2, "8 debates of one silent model are not 8 times its time"
        assert "8 of 12 debates" in done.error_line
        assert "'debater-0' gave no whole answer 2 times in a row, the last within 2 s" in "".join(reasons(root))
        is_silent.clear()
        again = play(root, "--no-build", "--retry-failed")
        assert again.code == 0, again.err


@pytest.mark.slow
def test_a_judge_that_stays_silent_is_replaced(tmp_path: Path):
    def script(received: Received) -> Behaviour:
        is_silent = is_judge(received) and received.json["model"] == "judge-0"
        return silence() if is_silent else good_answers(received)

    with FakeProvider(script) as server:
        root = with_timeout(write_workspace(tmp_path, server), 2.0)
        # Its requests to several debates are in flight together, because a judge's first need not go alone.
        done = play(root, "--no-build", "--max-ambiguous-retries", "1", "--concurrency", "1")
        assert done.code == 0, done.err
        assert Counter(received.json["model"] for received in server.requests)["judge-0"] == 2


@pytest.mark.slow
def test_a_proxy_that_stays_silent_ends_the_run_after_the_time_to_wait(tmp_path: Path):
    with FakeProvider(good_answers) as server, socket.create_server(("127.0.0.1", 0)) as proxy:
        root = write_workspace(tmp_path, server)
        for name in ("models.yaml", "judges.yaml"):
            path = root / "configs" / name
            far = path.read_text().replace(server.url, "https://gpu.invalid/v1")
            path.write_text(far.replace("provider: http", "provider: http, environment_proxies: true"))
        environ = {"TINY_API_KEY": KEY, "HTTPS_PROXY": f"http://127.0.0.1:{proxy.getsockname()[1]}"}
        done = debatebench(root, "run", "--run-tag", "tiny", "--no-build", "--wait-for-provider", "1s", environ=environ)
    assert done.code == 5, done.err
    assert "The run has waited for it for 1.0 s (--wait-for-provider)." in done.error_line
    events = read_journal(root / "warehouse" / "journal" / "tiny.jsonl")
    # An attempt takes the whole time that is left, up to 30 s.
    assert sum(event.data["type"] == "intent" for event in events) <= 2
