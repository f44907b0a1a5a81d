"""After a failed attempt at a call: whether there is another one, and when."""

from __future__ import annotations

import random
import re
from dataclasses import dataclass

from debatebench.config.types import MemberConfig
from debatebench.play.pacing import TOO_BUSY
from debatebench.providers.base import FailureKind, ProviderFailure

_NOT_FOUND = 404
# Fields of every request that have the same name in `parameters`.
_FIELDS = ("temperature", "max_tokens", "max_completion_tokens", "seed", "response_format")


@dataclass(frozen=True, slots=True)
class RetryPolicy:
    """How often a call is retried, by the kind of the last failure, and how long to wait.

    Waits are exponential with full jitter: uniform in [0, min(cap, first * 2**n)], and never shorter than the provider
    asks for. A provider that reports overload is asked again until the call has waited for `busy_s` seconds. One that
    cannot be reached is waited for up to `unreachable_s` seconds, after which the run stops. A model that stays silent
    is asked `silences` times again in all. The run also stops when `failures_in_a_row` calls of one member ended with
    errors; with 0 it never does.
    """

    declined: int = 5
    ambiguous: int = 3
    empty: int = 2
    busy_s: float = 600.0
    unreachable_s: float = 600.0
    failures_in_a_row: int = 5
    first_wait_s: float = 1.0
    longest_wait_s: float = 60.0

    @property
    def silences(self) -> int:
        """How often in a row a model may give no whole answer in time: as often as one call, but once may be chance."""
        return max(1, self.ambiguous)

    def allowed(self, kind: FailureKind) -> int:
        """The number of retries that a failure of this kind may have in one call."""
        limits = {
            FailureKind.RETRY: self.declined,
            FailureKind.AMBIGUOUS: self.ambiguous,
            FailureKind.EMPTY: self.empty,
        }
        return limits.get(kind, 0)

    def wait_s(self, failures: int, retry_after_s: float | None, jitter: random.Random) -> float:
        """Seconds to wait after the `failures`-th failure of a call."""
        # A larger exponent would make no difference.
        ceiling = min(self.longest_wait_s, self.first_wait_s * 2 ** min(failures - 1, 64))
        return max(retry_after_s or 0.0, jitter.uniform(0.0, ceiling))


class Tries:
    """The failed attempts at one call in one session, as far as they limit further ones."""

    def __init__(self, policy: RetryPolicy, call_id: str) -> None:
        self._policy = policy
        self._call_id = call_id
        self._failures: list[FailureKind] = []
        self._jitter: random.Random | None = None
        self._waited_s = 0.0

    def may_go_on(self, failure: ProviderFailure) -> bool:
        """Count a failure; whether the policy allows another attempt after it."""
        self._failures.append(failure.kind)
        if _is_overload(failure):
            return self._waited_s < self._policy.busy_s
        return self._failures.count(failure.kind) <= self._policy.allowed(failure.kind)

    def wait_s(self, failure: ProviderFailure) -> float:
        """Seconds to wait before the attempt that follows the last failure counted."""
        self._jitter = self._jitter or random.Random(self._call_id)  # noqa: S311
        seconds = self._policy.wait_s(len(self._failures), failure.retry_after_s, self._jitter)
        self._waited_s += seconds
        return seconds


def is_for_now(failure: ProviderFailure) -> bool:
    """Whether the provider was only unavailable, or refused all service: a later session asks it again."""
    return failure.kind in (FailureKind.UNSENT, FailureKind.STOP) or _is_overload(failure)


def needed_change(member: MemberConfig, failure: ProviderFailure) -> str | None:
    """The change to the entry of a member that this failure calls for: the parameter or the model that it names."""
    if failure.kind is not FailureKind.FAILED:
        return None
    said = str(failure)
    named = next((name for name in (*member.parameters, *_FIELDS) if re.search(rf"\b{re.escape(name)}\b", said)), None)
    if named is not None and named in member.parameters:
        return f"Correct `{named}` in the `parameters` of '{member.id}', or remove it with `{named}: null`."
    if named is not None:
        return f"Give '{member.id}' another value with `parameters: {{{named}: …}}`, or remove it with `{named}: null`."
    if failure.http_status == _NOT_FOUND or member.model in said:
        return f"Check `model` and `endpoint` of '{member.id}'."
    return None


def _is_overload(failure: ProviderFailure) -> bool:
    return failure.kind is FailureKind.RETRY and failure.http_status in TOO_BUSY
