"""Requests leave when they may: in order, within every limit, and giving way when a provider declines."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any, TypeVar

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from virtual_time import in_time, in_virtual_time, now

from debatebench.config.types import MemberConfig, RateLimits
from debatebench.play.pacing import Admission, Pacing, estimated_tokens
from debatebench.providers.base import Message, Request

T = TypeVar("T")


def member(id_: str = "m", provider: str = "http", model: str | None = None, **limits: Any) -> MemberConfig:
    provider_limits = limits.pop("provider_limits", RateLimits())
    return MemberConfig(
        id=id_,
        provider=provider,
        model=model or id_,
        endpoint="http://localhost/v1",
        limits=RateLimits(**limits),
        provider_limits=provider_limits,
    )


M = member()


def paced(concurrency: int, *members: MemberConfig) -> Pacing:
    return Pacing(concurrency, members, clock=now)


async def others_run() -> None:
    for _ in range(5):
        await asyncio.sleep(0)


async def admitted_now(*asking: Awaitable[Admission]) -> list[Admission | None]:
    """What each gets without any time passing; None for one that still waits."""
    tasks = [asyncio.ensure_future(each) for each in asking]
    await others_run()
    return [task.result() if task.done() else None for task in tasks]


# --- slots


@in_time
async def test_never_more_are_admitted_than_there_are_slots() -> None:
    pacing = paced(2)
    first, second, third = await admitted_now(*(pacing.admit(M) for _ in range(3)))
    assert first is not None
    assert second is not None
    assert third is None


@in_time
async def test_the_longest_chain_goes_first_and_then_whoever_came_first() -> None:
    pacing, order = paced(1), []

    async def ask(name: str, calls_after: int) -> None:
        with await pacing.admit(M, calls_after=calls_after):
            order.append(name)
            await asyncio.sleep(1)

    await asyncio.gather(*(ask(f"{n}:{after}", after) for n, after in enumerate([0, 0, 3, 1, 3, 5])))
    assert order == ["0:0", "5:5", "2:3", "4:3", "3:1", "1:0"]


@in_time
async def test_a_slot_that_is_given_back_twice_is_one_slot() -> None:
    pacing = paced(1)
    with await pacing.admit(M) as admission:
        admission.release()
    assert [each is not None for each in await admitted_now(pacing.admit(M), pacing.admit(M))] == [True, False]


@in_time
async def test_whoever_leaves_while_waiting_takes_no_slot() -> None:
    pacing = paced(1)
    held = await pacing.admit(M)
    leaving = [asyncio.create_task(pacing.admit(M)) for _ in range(3)]
    await others_run()
    leaving[0].cancel()
    held.release()
    # The second has its slot already when it is cancelled, and has not heard of it.
    leaving[1].cancel()
    await others_run()
    assert leaving[2].done()
    leaving[2].result().release()
    assert None not in await admitted_now(pacing.admit(M))


@in_time
async def test_a_provider_that_is_full_holds_up_nobody_else() -> None:
    full, free = member("a", "openrouter", provider_limits=RateLimits(max_concurrency=1)), member("b", "openai")
    pacing = paced(8, full, free)
    got = await admitted_now(*(pacing.admit(each, calls_after=9) for each in (full, full)), pacing.admit(free))
    assert [each is not None for each in got] == [True, False, True]


@in_time
async def test_a_model_that_is_full_holds_up_no_other_model_of_its_provider() -> None:
    full, free = member("a", max_concurrency=1), member("b")
    pacing = paced(8, full, free)
    got = await admitted_now(*(pacing.admit(each, calls_after=9) for each in (full, full)), pacing.admit(free))
    assert [each is not None for each in got] == [True, False, True]


@in_time
async def test_a_run_that_stops_lets_everybody_go() -> None:
    slow = member(requests_per_minute=1)
    pacing = paced(1, slow)
    waiting = [asyncio.create_task(pacing.admit(slow)) for _ in range(5)]
    await others_run()
    pacing.stop()
    await asyncio.gather(*waiting)
    await pacing.admit(slow)
    assert now() == 0


# --- giving way


async def round_trip(pacing: Pacing, count: int, settle: Callable[[Admission], None], who: MemberConfig = M) -> int:
    """Have `count` requests ask at once, take a second each and settle; the most that were in flight together."""
    together = in_flight = 0

    async def ask() -> None:
        nonlocal together, in_flight
        with await pacing.admit(who) as admission:
            in_flight += 1
            together = max(together, in_flight)
            await asyncio.sleep(1)
            in_flight -= 1
        settle(admission)

    await asyncio.gather(*(ask() for _ in range(count)))
    return together


@in_time
async def test_a_provider_that_declines_a_whole_round_lowers_its_limit_once() -> None:
    pacing = paced(64)
    assert await round_trip(pacing, 64, lambda a: a.declined(None)) == 64
    assert pacing.limit_of(M) == 44
    assert await round_trip(pacing, 44, lambda a: a.declined(None)) == 44
    assert pacing.limit_of(M) == 31


@in_time
async def test_a_limit_falls_below_what_was_in_flight_and_never_to_nothing() -> None:
    pacing = paced(64)
    await round_trip(pacing, 10, lambda a: a.declined(None))
    assert pacing.limit_of(M) == 7
    for _ in range(20):
        await round_trip(pacing, 1, lambda a: a.declined(None))
    assert pacing.limit_of(M) == 1


@in_time
async def test_a_limit_grows_back_by_a_sixteenth_per_round_trip_and_no_further() -> None:
    pacing = paced(64)
    await round_trip(pacing, 64, lambda a: a.declined(None))
    limits = []
    for _ in range(8):
        await round_trip(pacing, pacing.limit_of(M), lambda a: a.answered(1))
        limits.append(pacing.limit_of(M))
    assert limits[0] == 48
    assert limits == sorted(limits)
    assert limits[-1] == 64


@in_time
async def test_a_limit_that_nobody_reaches_does_not_grow() -> None:
    pacing = paced(64)
    await round_trip(pacing, 64, lambda a: a.declined(None))
    for _ in range(50):
        await round_trip(pacing, 5, lambda a: a.answered(1))
    assert pacing.limit_of(M) == 44


@in_time
async def test_only_the_provider_that_declined_gives_way() -> None:
    pacing, other = paced(64), member("b", "openai")
    await round_trip(pacing, 64, lambda a: a.declined(None))
    assert (pacing.limit_of(M), pacing.limit_of(other)) == (44, 64)


@given(st.lists(st.sampled_from(["answered", "declined", "late decline"]), max_size=60), st.integers(1, 40))
@settings(deadline=None)
def test_a_limit_stays_between_one_and_the_most_whatever_comes(outcomes: list[str], concurrency: int) -> None:
    async def main() -> None:
        pacing, late = paced(concurrency), []
        for outcome in outcomes:
            with await pacing.admit(M) as admission:
                pass
            if outcome == "answered":
                admission.answered(None)
            elif outcome == "declined":
                admission.declined(None)
            else:
                late.append(admission)
            assert 1 <= pacing.limit_of(M) <= concurrency
        for admission in late:
            admission.declined(None)
        assert 1 <= pacing.limit_of(M) <= concurrency

    in_virtual_time(main)


@in_time
async def test_a_model_is_left_alone_for_as_long_as_its_provider_asks() -> None:
    pacing, other = paced(8), member("b")
    with await pacing.admit(M) as admission:
        pass
    admission.declined(7.0)
    with await pacing.admit(other):
        pass
    assert now() == 0
    await pacing.admit(M)
    assert now() == pytest.approx(7)


# --- per minute


async def times_of(pacing: Pacing, arrivals: list[float], who: MemberConfig, tokens: int = 0) -> list[float]:
    """When requests that come at these times are admitted."""
    times = []

    async def ask(at: float) -> None:
        await asyncio.sleep(at)
        with await pacing.admit(who, tokens=tokens):
            times.append(now())

    await asyncio.gather(*(ask(at) for at in arrivals))
    return times


@given(st.lists(st.floats(0, 200), min_size=1, max_size=30), st.integers(1, 5))
@settings(deadline=None, max_examples=50)
def test_no_minute_holds_more_requests_than_are_allowed_and_none_waits_for_longer_than_needed(
    arrivals: list[float], limit: int
) -> None:
    async def main() -> list[float]:
        slow = member(requests_per_minute=limit)
        return await times_of(paced(1000, slow), arrivals, slow)

    times = in_virtual_time(main)
    assert len(times) == len(arrivals)
    expected: list[float] = []
    for arrival in sorted(arrivals):
        before = expected[-limit] + 60 if len(expected) >= limit else 0.0
        expected.append(max(arrival, before))
    assert times == pytest.approx(expected, abs=1e-6)


@in_time
async def test_tokens_are_reserved_by_estimate_and_given_back_when_known() -> None:
    slow = member(tokens_per_minute=1000)
    pacing = paced(8, slow)
    first = await pacing.admit(slow, tokens=900)
    first.release()
    waiting = asyncio.create_task(pacing.admit(slow, tokens=500))
    await others_run()
    assert not waiting.done()
    first.answered(400)
    await waiting
    assert now() == 0
    await pacing.admit(slow, tokens=500)
    assert now() == pytest.approx(60)


@in_time
async def test_more_tokens_than_estimated_make_the_next_wait() -> None:
    slow = member(tokens_per_minute=1000)
    pacing = paced(8, slow)
    (await pacing.admit(slow, tokens=10)).answered(990)
    await pacing.admit(slow, tokens=11)
    assert now() == pytest.approx(60)


@in_time
async def test_an_answer_that_tells_no_tokens_leaves_the_estimate() -> None:
    slow = member(tokens_per_minute=1000)
    pacing = paced(8, slow)
    (await pacing.admit(slow, tokens=990)).answered(None)
    await pacing.admit(slow, tokens=11)
    assert now() == pytest.approx(60)


@in_time
async def test_a_request_beyond_the_limit_goes_when_nothing_else_did_for_a_minute() -> None:
    slow = member(tokens_per_minute=100)
    pacing = paced(8, slow)
    assert await times_of(pacing, [0.0, 1.0], slow, tokens=500) == pytest.approx([0, 60])


@in_time
async def test_what_is_corrected_after_its_minute_changes_nothing() -> None:
    slow = member(tokens_per_minute=100)
    pacing = paced(8, slow)
    first = await pacing.admit(slow, tokens=100)
    await asyncio.sleep(61)
    await pacing.admit(slow, tokens=50)
    first.answered(5000)
    await pacing.admit(slow, tokens=50)
    assert now() == pytest.approx(61)


@in_time
async def test_a_waiting_model_is_overtaken_by_others_and_not_by_its_own() -> None:
    slow, free = member("a", requests_per_minute=1), member("b")
    pacing, order = paced(1, slow, free), []

    async def ask(who: MemberConfig, name: str, calls_after: int) -> None:
        with await pacing.admit(who, calls_after=calls_after):
            order.append((name, now()))
            await asyncio.sleep(1)

    await asyncio.gather(ask(slow, "a1", 9), ask(slow, "a2", 1), ask(free, "b1", 0), ask(slow, "a3", 5))
    assert [name for name, _ in order] == ["a1", "b1", "a3", "a2"]
    assert [at for _, at in order] == pytest.approx([0, 1, 60, 120])


@in_time
async def test_limits_of_a_provider_hold_for_its_models_together() -> None:
    shared = RateLimits(requests_per_minute=2)
    one, two = member("a", provider_limits=shared), member("b", provider_limits=shared)
    pacing = paced(8, one, two)
    for who in (one, two, one):
        await pacing.admit(who)
    assert now() == pytest.approx(60)


@in_time
async def test_where_several_say_something_of_one_model_the_least_counts() -> None:
    entries = [member(id_, model="m", requests_per_minute=n) for id_, n in (("a", 3), ("b", 1), ("c", 2))]
    pacing = paced(8, *entries)
    await pacing.admit(entries[0])
    await pacing.admit(entries[2])
    assert now() == pytest.approx(60)


@in_time
async def test_a_debater_and_a_judge_of_one_name_both_have_their_say() -> None:
    debater, judge = member("m", model="m"), member("m", model="m", max_concurrency=1)
    pacing = paced(8, debater, judge)
    assert [each is None for each in await admitted_now(pacing.admit(debater), pacing.admit(judge))] == [False, True]


def test_tokens_are_estimated_from_the_text_and_the_token_limit() -> None:
    messages = (Message("system", "x" * 100), Message("user", "y" * 300))
    assert estimated_tokens(Request("m", messages, max_tokens=50)) == 150
    assert estimated_tokens(Request("m", messages)) == 1100


# --- the tail


@pytest.mark.parametrize(("debates", "slots", "rounds"), [(50, 32, 15), (200, 64, 29), (10, 64, 7)])
def test_a_run_ends_when_its_calls_and_its_longest_chain_allow(debates: int, slots: int, rounds: int) -> None:
    """Six turns, then three judges at a time; every call takes a second, and keeping its answer a little longer."""

    async def main() -> float:
        pacing, todo = paced(slots), iter(range(debates))

        async def ask(calls_after: int) -> None:
            with await pacing.admit(M, calls_after=calls_after):
                await asyncio.sleep(1)
            await asyncio.sleep(0.02)

        async def worker() -> None:
            for _ in todo:
                for turn in range(6):
                    await ask(6 - turn)
                await asyncio.gather(*(ask(0) for _ in range(3)))

        await asyncio.gather(*(worker() for _ in range(2 * slots)))
        return now()

    assert in_virtual_time(main) <= rounds * 1.05


# --- requests that go alone


@in_time
async def test_while_a_provider_cannot_be_reached_one_request_at_a_time_tries_after_growing_waits() -> None:
    pacing = paced(4, M)
    tried_at: list[float] = []

    async def ask() -> None:
        while True:
            with await pacing.admit(M) as admission:
                tried_at.append(now())
                if now() > 100:
                    admission.reached()
                    return
                admission.unreachable(600.0)

    for lost in await admitted_now(*(pacing.admit(M) for _ in range(4))):
        assert lost is not None
        lost.unreachable(600.0)
        lost.release()
    await asyncio.gather(*(ask() for _ in range(8)))
    assert [at for at in tried_at if at <= 100] == [0.0, 1.0, 3.0, 7.0, 15.0, 31.0, 61.0, 91.0]


@in_time
async def test_a_provider_that_cannot_be_reached_holds_up_no_other() -> None:
    other = member("other", provider="openai")
    pacing = paced(4, M, other)
    with await pacing.admit(M) as admission:
        assert not admission.unreachable(600.0)
    (probe,) = await admitted_now(pacing.admit(M))
    assert probe is not None
    assert await admitted_now(pacing.admit(M)) == [None]
    assert None not in await admitted_now(*(pacing.admit(other) for _ in range(3)))


@in_time
async def test_when_a_provider_can_be_reached_again_everything_that_waited_goes() -> None:
    pacing = paced(4, M)
    with await pacing.admit(M) as admission:
        admission.unreachable(600.0)
    probe = await pacing.admit(M)
    waiting = [asyncio.ensure_future(pacing.admit(M)) for _ in range(3)]
    await others_run()
    probe.reached()
    probe.release()
    await others_run()
    assert all(task.done() for task in waiting)


@in_time
async def test_the_first_request_to_a_new_model_goes_alone_and_holds_up_no_other_model() -> None:
    other = member("other")
    pacing = Pacing(8, [M, other], is_new=lambda m: m.id == "m", clock=now)
    first, second, elsewhere = await admitted_now(pacing.admit(M), pacing.admit(M), pacing.admit(other))
    assert first is not None
    assert second is None
    assert elsewhere is not None
    assert first.is_first
    first.release()
    (next_,) = await admitted_now(pacing.admit(M))
    assert next_ is None, "the second one is admitted now, and it is still alone"


@in_time
async def test_a_model_that_takes_a_request_takes_the_others_at_once() -> None:
    pacing = Pacing(8, [M], is_new=lambda _: True, clock=now)
    first = await pacing.admit(M)
    waiting = [asyncio.ensure_future(pacing.admit(M)) for _ in range(5)]
    await others_run()
    assert not any(task.done() for task in waiting)
    first.tried()
    await others_run()
    assert all(task.done() for task in waiting)
    assert not first.is_first
