"""The configured limits of a provider or model: requests in flight, and requests and tokens per minute."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field

from debatebench.config.types import RateLimits

_MINUTE_S = 60.0


class Quota:
    """The configured limits: requests in flight, and requests and tokens per minute."""

    def __init__(self) -> None:
        self.most: int | None = None
        self._requests: PerMinute | None = None
        self._tokens: PerMinute | None = None

    def allow(self, limits: RateLimits) -> None:
        """Apply further limits; the lowest one counts."""
        self.most = _least(self.most, limits.max_concurrency)
        self._requests = PerMinute.stricter(self._requests, limits.requests_per_minute, counts_tokens=False)
        self._tokens = PerMinute.stricter(self._tokens, limits.tokens_per_minute, counts_tokens=True)

    def opens_at(self, now: float, tokens: int) -> float:
        """When a request of so many tokens may be sent: `now`, or later."""
        if self._requests is None and self._tokens is None:
            return now
        opens = now
        if self._requests is not None:
            opens = max(opens, self._requests.opens_at(now, 1))
        if self._tokens is not None:
            opens = max(opens, self._tokens.opens_at(now, tokens))
        return opens

    def take(self, now: float, tokens: int) -> list[tuple[PerMinute, Use]]:
        """Count a request that is sent."""
        spent = []
        if self._requests is not None:
            spent.append((self._requests, self._requests.take(now, 1)))
        if self._tokens is not None:
            spent.append((self._tokens, self._tokens.take(now, tokens)))
        return spent


@dataclass(slots=True, eq=False)
class Use:
    at: float
    amount: int
    is_counted: bool = True


@dataclass(slots=True)
class PerMinute:
    """At most `limit` within any 60 seconds; an amount above the limit is let through when nothing else is counted."""

    limit: int
    counts_tokens: bool
    _uses: deque[Use] = field(default_factory=deque)
    _total: int = 0

    @classmethod
    def stricter(cls, old: PerMinute | None, limit: int | None, *, counts_tokens: bool) -> PerMinute | None:
        """The stricter limit: `old`, or a new one."""
        if limit is None or (old is not None and old.limit <= limit):
            return old
        return cls(limit, counts_tokens)

    def opens_at(self, now: float, amount: int) -> float:
        """The time at which enough has expired for `amount` more."""
        while self._uses and self._uses[0].at + _MINUTE_S <= now:
            use = self._uses.popleft()
            use.is_counted = False
            self._total -= use.amount
        too_much = self._total + amount - self.limit
        opens = now
        for use in self._uses:
            if too_much <= 0:
                break
            too_much -= use.amount
            opens = use.at + _MINUTE_S
        return opens

    def take(self, now: float, amount: int) -> Use:
        use = Use(now, amount)
        self._uses.append(use)
        self._total += amount
        return use

    def correct(self, use: Use, amount: int) -> None:
        """Replace the estimate with the real amount."""
        if use.is_counted:
            self._total += amount - use.amount
            use.amount = amount


def _least(one: int | None, other: int | None) -> int | None:
    return other if one is None else one if other is None else min(one, other)
