"""Tiny requests before a run: which members answer, how fast and at what price; whether judges return verdicts.

Nothing is journalled or landed. The requests are billed all the same, so the cost of every attempt is reported.
"""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any, Literal, TypeVar

from debatebench.config.prompts import PromptSet
from debatebench.config.types import Config, MemberConfig
from debatebench.judges import ask_judge
from debatebench.judges.base import Seat, Transcript
from debatebench.play.attempts import call_id_of, status_of
from debatebench.play.budget import MAY_HAVE_BEEN_BILLED
from debatebench.play.retries import RetryPolicy, Tries
from debatebench.providers import is_simulated, make_provider, provider_key
from debatebench.providers.asking import Answer, CallFailedError, Step
from debatebench.providers.base import (
    Completion,
    FailureKind,
    Message,
    Provider,
    ProviderFailure,
    RefusedFieldError,
    Request,
    TimeLimits,
)
from debatebench.providers.endpoints import uses_proxy
from debatebench.providers.prices import cost_of
from debatebench.providers.requests import is_cut_off, request_to
from debatebench.providers.thinking import strip_thinking
from debatebench.providers.unreachable import PROXY_LOGIN
from debatebench.shared.errors import DebatebenchError
from debatebench.shared.records import Turn

T = TypeVar("T")

_TAG = "probe"
_QUESTION = "Answer with the single word: ready."
# Models that think before they answer need some room; the limit bounds the cost all the same.
_MOST_TOKENS = 64
_AT_ONCE = 8
# A busy moment says nothing about a model, and a person waits for the answer.
_PATIENCE = RetryPolicy(declined=2, busy_s=20.0, longest_wait_s=5.0)

_MOTION = "Towns should keep their public libraries open on Sundays."
_SPEECHES: tuple[tuple[Literal["pro", "con"], str], ...] = (
    (
        "pro",
        "Most people who work all week can visit a library on Sundays only. Towns that opened theirs counted more "
        "visits by families and by pupils without a quiet room at home, for the wages of two people.",
    ),
    (
        "con",
        "The money is the same money: a Sunday is paid for by a closed weekday, when schools come. My opponent names "
        "visits, but not one town that kept its weekday hours as well.",
    ),
)


@dataclass(slots=True)
class _Spent:
    """The use of one member's attempts: the known cost, and how many reported none."""

    calls: int = 0
    unpriced: int = 0
    cost: Decimal = field(default_factory=Decimal)
    duration_ms: float = 0.0

    def add(self, completion: Completion | None, member: MemberConfig) -> None:
        cost = cost_of(completion, member).usd if completion is not None else None
        if cost is not None:
            self.cost += cost
        else:
            self.unpriced += 1

    @property
    def cost_usd(self) -> Decimal | None:
        """USD; None as soon as one part is unknown."""
        return None if self.unpriced else self.cost


@dataclass(frozen=True, slots=True)
class Probe:
    """The result of one tiny request. `cost_usd` is None when not reported; `problem` is None when it was answered."""

    id: str
    provider: str
    model: str
    answers: bool
    latency_ms: float | None
    cost_usd: Decimal | None
    was_asked: bool
    problem: str | None


@dataclass(frozen=True, slots=True)
class JudgeCheck:
    """A judge's result on a tiny fixed debate. `is_valid` says whether its answer was a verdict."""

    judge_id: str
    is_valid: bool
    is_repaired: bool
    asks: int
    latency_ms: float
    cost_usd: Decimal | None
    problem: str | None


async def probe_members(members: Sequence[MemberConfig], environ: Mapping[str, str]) -> list[Probe]:
    """One tiny request to every model of `members`, in order; a model that is configured twice gets one request.

    A missing key, an address that is not allowed and any answer of a provider are findings, not errors.
    """
    distinct = {(provider_key(member), member.model): member for member in reversed(members)}
    async with _Line(environ) as line:
        return await _together([_probe(member, line) for member in reversed(distinct.values())])


async def check_judges(
    judges: Sequence[MemberConfig], config: Config, prompts: PromptSet, environ: Mapping[str, str]
) -> list[JudgeCheck]:
    """Have every judge judge the same tiny debate, as it would in a run, and report the results."""
    turns = tuple(_turn(index, side, text) for index, (side, text) in enumerate(_SPEECHES))
    transcript = Transcript(_TAG, _TAG, 0, _MOTION, "towns", None, turns)

    async def check(judge: MemberConfig, line: _Line) -> JudgeCheck:
        spent = _Spent()

        async def ask(step: Step, member: MemberConfig, request: Request) -> Answer:
            return await line.ask(step, member, request, spent)

        verdict = (await ask_judge(Seat(0, judge), config, prompts, transcript, ask)).verdict
        return JudgeCheck(
            judge.id,
            verdict.is_valid,
            verdict.is_repaired,
            verdict.asks,
            spent.duration_ms,
            spent.cost_usd,
            verdict.invalid_reason,
        )

    async with _Line(environ) as line:
        return await _together([check(judge, line) for judge in judges])


def _turn(index: int, side: Literal["pro", "con"], text: str) -> Turn:
    return Turn(
        run_tag=_TAG,
        debate_id=_TAG,
        turn_index=index,
        position=side,
        side=side,
        model_id=side,
        stage="opening",
        content=text,
    )


async def _probe(member: MemberConfig, line: _Line) -> Probe:
    spent = _Spent()
    problem = None
    try:
        answer = await line.ask(Step(_TAG, "probe", "turn"), member, _tiny_request(member), spent)
        problem = _lack_of(answer.completion)
    except CallFailedError as failure:
        problem = str(failure)
    return Probe(
        member.id,
        member.provider,
        member.model,
        answers=problem is None,
        latency_ms=spent.duration_ms or None,
        cost_usd=spent.cost_usd if spent.calls else None,
        was_asked=spent.calls > 0,
        problem=problem,
    )


def _lack_of(completion: Completion) -> str | None:
    """What is wrong with an answer; None if it has text. A debater without text would end its debates."""
    if strip_thinking(completion.text).strip():
        return None
    if not is_cut_off(completion):
        return "Answered with nothing but thinking."
    tokens = "its tokens" if completion.completion_tokens is None else f"its {completion.completion_tokens:,} tokens"
    return f"Answered without text: {tokens} were spent on thinking; add `thinking_tokens`."


def _tiny_request(member: MemberConfig) -> Request:
    return request_to(
        member, (Message("user", _QUESTION),), temperature=0.0, max_tokens=_MOST_TOKENS, seed=0, hints={"task": "probe"}
    )


async def _together(jobs: Sequence[Coroutine[Any, Any, T]]) -> list[T]:
    """The results of all jobs, in order, a few at once."""
    slots = asyncio.Semaphore(_AT_ONCE)

    async def run(job: Coroutine[Any, Any, T]) -> T:
        async with slots:
            return await job

    return list(await asyncio.gather(*(run(job) for job in jobs)))


class _Line:
    """Sends requests and stores nothing. Providers are shared and closed at the end of the `async with`."""

    def __init__(self, environ: Mapping[str, str]) -> None:
        self._environ = environ
        self._providers: dict[Hashable, Provider] = {}
        # The first request through a proxy goes alone, and is the last if the proxy wants a password.
        self._first_through_proxy = asyncio.Lock()
        self._is_proxy_tried = False
        self._proxy_refusal: str | None = None

    async def __aenter__(self) -> _Line:
        return self

    async def __aexit__(self, *_: object) -> None:
        for provider in self._providers.values():
            await provider.aclose()

    async def ask(self, step: Step, member: MemberConfig, request: Request, spent: _Spent) -> Answer:
        """One attempt, more while the provider declines for now, and one for each optional field that it refuses.

        Raises `CallFailedError` when it gives no answer; the cost is added to `spent`.
        """
        if self._is_proxy_tried or not uses_proxy(member, self._environ):
            return await self._ask(step, member, request, spent)
        async with self._first_through_proxy:
            if self._proxy_refusal is not None:
                raise CallFailedError(FailureKind.STOP, self._proxy_refusal, call_id_of(_TAG, step, request))
            return await self._ask(step, member, request, spent)

    async def _ask(self, step: Step, member: MemberConfig, request: Request, spent: _Spent) -> Answer:
        call_id = call_id_of(_TAG, step, request)
        try:
            provider = self._provider_of(member)
        except DebatebenchError as problem:
            raise CallFailedError(FailureKind.STOP, str(problem), call_id) from problem
        adjusted: set[str] = set()
        completion = None
        tries = Tries(_PATIENCE, call_id)
        try:
            while completion is None:
                spent.calls += 1
                reply = await provider.send(request, adjusted, TimeLimits.of(member.timeout))
                if reply.status != PROXY_LOGIN and uses_proxy(member, self._environ):
                    self._is_proxy_tried = True
                spent.duration_ms += reply.duration_ms
                try:
                    completion = provider.read(reply, request, adjusted)
                except RefusedFieldError as refusal:
                    adjusted.add(refusal.field)
                except ProviderFailure as failure:
                    if not _is_for_a_moment(failure) or not tries.may_go_on(failure):
                        raise
                    await asyncio.sleep(tries.wait_s(failure))
        except ProviderFailure as failure:
            if failure.http_status == PROXY_LOGIN:
                self._proxy_refusal = str(failure)
            partial = failure.completion
            is_priced = partial is not None and cost_of(partial, member).usd is not None
            if is_priced or status_of(failure) in MAY_HAVE_BEEN_BILLED:
                spent.add(partial, member)
            raise CallFailedError(failure.kind, str(failure), call_id) from None
        spent.add(completion, member)
        return Answer(call_id, completion, reply.received_at, reply.duration_ms)

    def _provider_of(self, member: MemberConfig) -> Provider:
        key = provider_key(member)
        if key not in self._providers:
            self._providers[key] = make_provider(member, self._environ)
        return self._providers[key]


def _is_for_a_moment(failure: ProviderFailure) -> bool:
    """Whether the provider declined for now, and does not ask for a longer wait than a probe has patience for."""
    return failure.kind is FailureKind.RETRY and (failure.retry_after_s or 0.0) <= _PATIENCE.busy_s


def hosted(members: Sequence[MemberConfig]) -> list[MemberConfig]:
    """The members that are not simulated."""
    return [member for member in members if not is_simulated(member.provider)]
