"""When a request may be sent: how many are in flight, how many are sent per minute, and which one goes first.

There is one limit for the whole run, and one for each provider and key, which falls when the provider reports overload
and rises again when it answers (additive increase, multiplicative decrease, as in TCP: Chiu and Jain, 1989). Limits in
the configuration apply as well, for a provider or for one of its models. The request with the most calls still to
follow it goes first: the longest chain determines when a run ends.

Four kinds of requests go alone. The first one to a model shows whether it accepts such requests at all, before others
are paid for. The first one through a proxy shows whether it accepts the password, before others lock the account. While
a provider cannot be reached, one request at a time tries, after growing waits. And while a model stays silent, one
request at a time finds out whether it answers, until the caller gives it up.
"""

from __future__ import annotations

import asyncio
import heapq
import time
from collections.abc import Callable, Hashable, Iterable
from dataclasses import dataclass
from itertools import count
from typing import Self

from debatebench.config.types import USUAL_TIMEOUT_S, MemberConfig, RateLimits
from debatebench.play.rate_limits import PerMinute, Quota, Use
from debatebench.providers import provider_key
from debatebench.providers.base import Request, TimeLimits

TOO_BUSY = frozenset({429, 498, 503, 529})
"""Statuses by which a provider reports overload."""

LONGEST_PROBE_WAIT_S = 30.0
"""The longest wait between two attempts to reach a provider that cannot be reached."""

# The factor of a limit after the provider reports overload, and the share of the maximum gained per round trip.
_DECREASE, _INCREASE = 0.7, 1 / 16
# The least time to connect, however soon the run stops to wait for a provider.
_LEAST_CONNECTING_S = 1.0
# A timer may end a little early by another clock.
_TIMER_ERROR_S = 0.01
_CHARACTERS_PER_TOKEN = 4
_USUAL_COMPLETION = 1000

# The sort order: the number of later calls, negative; the turn among equals; tokens; the future.
_Waiter = tuple[int, int, int, "asyncio.Future[Admission]"]


def estimated_tokens(request: Request) -> int:
    """The approximate tokens of `request`: its text and its whole token limit (1,000 if it has none)."""
    characters = sum(len(message.content) for message in request.messages)
    completion = _USUAL_COMPLETION if request.max_tokens is None else request.max_tokens
    return characters // _CHARACTERS_PER_TOKEN + completion


class GivenUpError(Exception):
    """No request is admitted to a model that has stayed silent for too long; the message says so."""


class Pacing:
    """Admits the requests of one run. At most `concurrency` are in flight; `members` hold the configured limits, and
    the lowest applies where several are given for the same provider or model.

    `is_new` says which of the `members` have never taken a request: the first one goes alone. `is_proxied` says whose
    requests go through a proxy: of all these, the first one goes alone. `has_answered` says whose model has answered
    before. `clock` gives monotonic seconds. Admitting one of n waiting requests costs O(log n), plus one check of each
    model that requests are waiting for.
    """

    def __init__(
        self,
        concurrency: int,
        members: Iterable[MemberConfig] = (),
        *,
        is_new: Callable[[MemberConfig], bool] = lambda _: False,
        is_proxied: Callable[[MemberConfig], bool] = lambda _: False,
        has_answered: Callable[[MemberConfig], bool] = lambda _: False,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._concurrency = concurrency
        self._clock = clock
        self._lanes: dict[Hashable, _Lane] = {}
        self._waited_for: dict[_Model, None] = {}
        self._in_flight = 0
        self._order = count()
        self._wakes_at: float | None = None
        self._stopped = False
        self._is_proxy_tried = False
        for member in members:
            model = self._model_of(member)
            model.lane.is_proxied = is_proxied(member)
            model.lane.was_reached |= has_answered(member)
            if is_new(member):
                model.is_tried = False
            model.timeouts[member.id] = min(member.timeout, model.timeouts.get(member.id, member.timeout))
            model.quota.allow(member.limits)
            model.lane.allow(member.provider_limits)

    @property
    def in_flight(self) -> int:
        """The number of requests that are admitted and not yet released."""
        return self._in_flight

    async def admit(self, member: MemberConfig, *, calls_after: int = 0, tokens: int = 0) -> Admission:
        """Wait until a request to `member` may be sent. The caller must `release` the admission when the reply arrives.

        `calls_after` is how many calls must follow this one, one after another; `tokens` is its approximate token use.
        Raises `GivenUpError` for a model that was given up.
        """
        model = self._model_of(member)
        if model.given_up is not None:
            raise GivenUpError(model.given_up)
        admitted: asyncio.Future[Admission] = asyncio.get_running_loop().create_future()
        heapq.heappush(model.waiting, (-calls_after, next(self._order), tokens, admitted))
        self._waited_for[model] = None
        self._dispatch()
        try:
            return await admitted
        except asyncio.CancelledError:
            if admitted.done() and not admitted.cancelled():
                admitted.result().release()
            raise

    def stop(self) -> None:
        """Admit every request from now on: a stopping run sends nothing more, so its tasks need not wait here."""
        self._stopped = True
        self._dispatch()

    def given_up(self, member: MemberConfig) -> str | None:
        """Why no request is admitted to the model of `member`; None if requests are."""
        return self._model_of(member).given_up

    def limit_of(self, member: MemberConfig) -> int:
        """The current limit of requests in flight at the provider of `member`."""
        return min(self._concurrency, int(self._model_of(member).lane.limit))

    def _model_of(self, member: MemberConfig) -> _Model:
        """The queue for a member's model."""
        key = provider_key(member)
        lane = self._lanes.get(key)
        if lane is None:
            lane = self._lanes[key] = _Lane(self._concurrency)
        model = lane.models.get(member.model)
        if model is None:
            model = lane.models[member.model] = _Model(lane)
        return model

    def _dispatch(self) -> None:
        """Admit every request that may be sent, and schedule another check when some must wait for time to pass."""
        now = self._clock()
        while self._stopped or self._in_flight < self._concurrency:
            best, opens_at = self._next(now)
            if best is None:
                self._look_again(opens_at, now)
                return
            _, _, tokens, admitted = heapq.heappop(best.waiting)
            if not admitted.done():
                admitted.set_result(self._admission(best, tokens, now))
            if not best.waiting:
                del self._waited_for[best]

    def _look_again(self, opens_at: float | None, now: float) -> None:
        """Dispatch again at that time, unless an earlier check is already scheduled."""
        if opens_at is not None and (self._wakes_at is None or opens_at < self._wakes_at):
            self._wakes_at = opens_at
            asyncio.get_running_loop().call_later(opens_at - now, self._wake)

    def _next(self, now: float) -> tuple[_Model | None, float | None]:
        """The model whose first request goes next; if there is none, the time at which there will be, if time helps."""
        best: _Model | None = None
        opens_at: float | None = None
        is_proxy_busy = not self._is_proxy_tried and self._proxied_in_flight()
        for model in self._waited_for:
            first = model.waiting[0]
            _, _, tokens, admitted = first
            if self._stopped or admitted.done():
                return model, None
            if is_proxy_busy and model.lane.is_proxied:
                continue
            if best is not None and best.waiting[0] < first:
                continue
            lane = model.lane
            if not model.has_room or not lane.has_room:
                continue
            opens = max(model.opens_at(now, tokens), lane.opens_at(now, tokens))
            if opens > now:
                opens_at = opens if opens_at is None else min(opens, opens_at)
            else:
                best = model
        return best, opens_at

    def _proxied_in_flight(self) -> bool:
        return any(lane.is_proxied and lane.in_flight for lane in self._lanes.values())

    def _admission(self, model: _Model, tokens: int, now: float) -> Admission:
        self._in_flight += 1
        lane = model.lane
        lane.leaves()
        model.in_flight += 1
        spent = [*model.quota.take(now, tokens), *lane.quota.take(now, tokens)]
        return Admission(self, model, lane.sent, spent, lane.is_down)

    def _wake(self) -> None:
        self._wakes_at = None
        self._dispatch()

    def _released(self, model: _Model, is_probe: bool) -> None:
        self._in_flight -= 1
        model.in_flight -= 1
        model.lane.in_flight -= 1
        if is_probe:
            model.lane.is_probed = False
        self._dispatch()

    def _reached(self, lane: _Lane) -> None:
        lane.reached(self._clock())
        if lane.is_proxied and not self._is_proxy_tried:
            self._is_proxy_tried = True
            self._dispatch()

    def _give_up(self, model: _Model, reason: str) -> None:
        model.given_up = reason
        for *_, admitted in model.waiting:
            if not admitted.done():
                admitted.set_exception(GivenUpError(reason))
        model.waiting.clear()
        self._waited_for.pop(model, None)

    def _pause(self, model: _Model, seconds: float) -> None:
        model.closed_until = max(model.closed_until, self._clock() + seconds)


@dataclass(slots=True, eq=False)
class Admission:
    """One request that may be sent. Used as a context manager, it is released on exit."""

    _pacing: Pacing
    _model: _Model
    _number: int
    _spent: list[tuple[PerMinute, Use]]
    _is_probe: bool = False
    _is_released: bool = False
    _sent_at: float = 0.0

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.release()

    def release(self) -> None:
        """The reply has arrived or will not come: the next request may be sent. A second call has no effect."""
        if not self._is_released:
            self._is_released = True
            self._pacing._released(self._model, self._is_probe)

    @property
    def is_first(self) -> bool:
        """Whether nothing is known yet of how the model takes requests."""
        return not self._model.is_tried

    def tried(self) -> None:
        """The model takes such requests, whatever came of this one: the others need not wait any longer."""
        if not self._model.is_tried:
            self._model.is_tried = True
            self._pacing._dispatch()

    def reached(self) -> None:
        """The provider can be reached."""
        self._pacing._reached(self._model.lane)

    @property
    def was_reached(self) -> bool:
        """Whether the provider has been reached before."""
        return self._model.lane.was_reached

    def sends(self, member: MemberConfig, unreachable_s: float) -> TimeLimits:
        """The request is sent now. Returns its time limits, with which a provider that cannot be reached is given up
        after `unreachable_s` seconds, however long it takes to say nothing.
        """
        self._sent_at = now = self._pacing._clock()
        left_s = max(_LEAST_CONNECTING_S, self._model.lane.down_at(now) + unreachable_s - now)
        return TimeLimits.of(self._model.timeouts.get(member.id, USUAL_TIMEOUT_S), left_s)

    def unreachable(self, longest_s: float) -> bool:
        """The provider could not be reached: from now on, one request at a time tries, until it can be.

        Returns whether this has lasted for `longest_s` seconds, counted from when the first attempt was sent.
        """
        return self._model.lane.unreachable(self._pacing._clock(), self._sent_at, longest_s, self._is_probe)

    def replied(self) -> None:
        """The model has sent a reply, of whatever kind."""
        if self._model.silences:
            self._model.silences = 0
            self._pacing._dispatch()

    def silent(self) -> int:
        """The model gave no whole reply in time: from now on, one request at a time is sent to it, until it does.

        Returns how often this has happened in a row. Requests that were in flight together count once.
        """
        return self._model.silent(self._number)

    def give_up(self, reason: str) -> None:
        """Admit no more requests to the model."""
        self._pacing._give_up(self._model, reason)

    def answered(self, tokens: int | None) -> None:
        """The provider answered, using so many tokens; with None (not reported) the estimate stays."""
        if tokens is not None:
            for per_minute, use in self._spent:
                if per_minute.counts_tokens:
                    per_minute.correct(use, tokens)
        if self._model.lane.grow(self._number) or self._spent:
            self._pacing._dispatch()

    def declined(self, retry_after_s: float | None) -> None:
        """The provider reports overload, possibly with the time to wait before the next request to this model."""
        self._model.lane.give_way(self._number)
        if retry_after_s:
            self._pacing._pause(self._model, retry_after_s)


class _Lane:
    """One provider and key: the estimated limit of requests in flight there."""

    def __init__(self, most: int) -> None:
        self.limit = float(most)
        self.in_flight = 0
        self.sent = 0
        self.is_proxied = False
        self.was_reached = False
        self.models: dict[str, _Model] = {}
        self.quota = Quota()
        self._most = most
        self._peak = 0
        # Numbers of requests in sending order: the last before the limit was lowered, and the last that reached it.
        self._gave_way_after = 0
        self._full_at = 0
        # Since when the provider could not be reached, the attempts since then, and the time of the next.
        self._down_since: float | None = None
        self._reached_at = float("-inf")
        self._probes = 0
        self._probe_at = 0.0
        self.is_probed = False

    @property
    def has_room(self) -> bool:
        return self.in_flight < int(self.limit) if self._down_since is None else not self.is_probed

    @property
    def is_down(self) -> bool:
        """Whether the provider cannot be reached."""
        return self._down_since is not None

    def opens_at(self, now: float, tokens: int) -> float:
        opens = self.quota.opens_at(now, tokens)
        return opens if self._down_since is None else max(opens, self._probe_at)

    def down_at(self, sent_at: float) -> float:
        """When a provider was sent its first request in vain, if one that was sent at this time is in vain, too."""
        return max(sent_at, self._reached_at) if self._down_since is None else self._down_since

    def unreachable(self, now: float, sent_at: float, longest_s: float, is_probe: bool) -> bool:
        """See `Admission.unreachable`. The first new attempt is made at once, because connections do get lost."""
        since = self.down_at(sent_at)
        ends_at = since + longest_s
        if self._down_since is None:
            self._down_since, self._probes, self._probe_at = since, 0, now
        elif is_probe:
            self._probes += 1
            # The last attempt is made when the time is over.
            self._probe_at = min(now + min(LONGEST_PROBE_WAIT_S, 2.0 ** (self._probes - 1)), max(now, ends_at))
        return now >= ends_at - _TIMER_ERROR_S

    def reached(self, now: float) -> None:
        self._down_since = None
        self._reached_at = now
        self.was_reached = True

    def allow(self, limits: RateLimits) -> None:
        """Apply the configured limits of the provider."""
        self.quota.allow(limits)
        self._most = min(self._most, limits.max_concurrency or self._most)
        self.limit = min(self.limit, float(self._most))

    def leaves(self) -> None:
        self.in_flight += 1
        self.sent += 1
        self.is_probed = self.is_down
        self._peak = max(self._peak, self.in_flight)
        if not self.has_room:
            self._full_at = self.sent

    def give_way(self, number: int) -> None:
        """Lower the limit below what was in flight, unless the declined request was sent before the last reduction."""
        if number <= self._gave_way_after:
            return
        self.limit = max(1.0, min(self.limit, self._peak) * _DECREASE)
        self._gave_way_after = self.sent
        self._peak = self.in_flight

    def grow(self, number: int) -> bool:
        """Raise the limit by an answer's share of a round trip, if it was reached after the request was sent.

        Returns whether it rose.
        """
        is_short = self.limit < self._most and self._gave_way_after < number <= self._full_at
        if is_short:
            step = max(1.0, self._most * _INCREASE)
            self.limit = min(float(self._most), self.limit + step / self.limit)
        return is_short


class _Model:
    """One model of a provider: its waiting requests and its limits."""

    def __init__(self, lane: _Lane) -> None:
        self.lane = lane
        self.waiting: list[_Waiter] = []
        self.in_flight = 0
        self.closed_until = 0.0
        self.quota = Quota()
        self.is_tried = True
        self.timeouts: dict[str, float] = {}
        # How often in a row no reply came in time, and the number of the last request that was sent before that.
        self.silences = 0
        self._silent_after = 0
        self.given_up: str | None = None

    @property
    def has_room(self) -> bool:
        if self.silences or not self.is_tried:
            return self.in_flight == 0
        return self.quota.most is None or self.in_flight < self.quota.most

    def silent(self, number: int) -> int:
        """See `Admission.silent`."""
        if number > self._silent_after:
            self.silences += 1
            self._silent_after = self.lane.sent
        return self.silences

    def opens_at(self, now: float, tokens: int) -> float:
        return max(self.closed_until, self.quota.opens_at(now, tokens))
