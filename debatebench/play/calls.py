"""Durable calls: one request to a provider, answered at most once, whatever happens to the process.

An intent is journalled before a request is sent, and the raw reply before it is read. A restart repeats the same
requests, and every request that has a reply in the journal is answered from there.
"""

from __future__ import annotations

import asyncio
import base64
from collections import Counter
from collections.abc import Awaitable, Callable
from datetime import datetime
from itertools import count
from typing import Any

from debatebench.config.types import MemberConfig
from debatebench.journal.writing import Journal
from debatebench.play.attempts import Attempt, call_id_of, reply_of, status_of
from debatebench.play.budget import MAY_HAVE_BEEN_BILLED, source_of_cost
from debatebench.play.pacing import TOO_BUSY, Admission, GivenUpError, Pacing, estimated_tokens
from debatebench.play.progress import Progress
from debatebench.play.resume import PastAttempt, Resume
from debatebench.play.retries import RetryPolicy, Tries, is_for_now, needed_change
from debatebench.providers.asking import Answer, CallFailedError, Step
from debatebench.providers.base import (
    Completion,
    FailureKind,
    Provider,
    ProviderFailure,
    RefusedFieldError,
    Reply,
    Request,
)
from debatebench.providers.prices import bound_of, cost_of
from debatebench.providers.unreachable import PROXY_LOGIN
from debatebench.shared.amounts import amount_text, duration_text
from debatebench.shared.errors import DebatebenchError, RunIncompleteError
from debatebench.shared.records import to_money

_FIRST_ERROR_STATUS = 400
_ERRORS = frozenset({FailureKind.RETRY, FailureKind.AMBIGUOUS, FailureKind.FAILED, FailureKind.OVERSIZE})


class RunStoppedError(DebatebenchError):
    """The run is stopping, and this call was not sent."""


class DurableCalls:
    """Sends the requests of one run to providers, each when `pacing` admits it.

    `refusal` is called before a request is sent and may return a reason not to send it; the call then fails with it.
    """

    def __init__(
        self,
        run_tag: str,
        journal: Journal,
        resume: Resume,
        provider_of: Callable[[MemberConfig], Provider],
        *,
        pacing: Pacing,
        now: Callable[[], datetime],
        progress: Progress,
        policy: RetryPolicy | None = None,
        retry_failed: bool = False,
        refusal: Callable[[Step, MemberConfig], str | None] = lambda _step, _member: None,
        sleep: Callable[[float], Awaitable[object]] | None = None,
    ) -> None:
        self._run_tag = run_tag
        self._journal = journal
        self._resume = resume
        self._provider_of = provider_of
        self._pacing = pacing
        self._now = now
        self._progress = progress
        self._policy = policy or RetryPolicy()
        self._retry_failed = retry_failed
        self._refusal = refusal
        self._sleep = sleep or self._sleep_unless_stopped
        self._ledger = resume.ledger
        self._failures: Counter[str] = Counter()
        self._stopping = asyncio.Event()
        self.stop_reason: str | None = None
        self.stop_error: type[DebatebenchError] = DebatebenchError

    def stop(
        self, reason: str, error: type[DebatebenchError] = DebatebenchError, way_on: str = "run the same command again"
    ) -> None:
        """Send nothing more. Requests in flight are still awaited and journalled; the first reason counts.

        `error` is the exception that ends the run, and `way_on` says how the user continues it.
        """
        if self.stop_reason is None:
            self.stop_reason = f"{reason} No answer is lost; to continue, {way_on}."
            self.stop_error = error
        self._stopping.set()
        self._ledger.wake()
        self._pacing.stop()

    async def __call__(self, step: Step, member: MemberConfig, request: Request) -> Answer:
        """See `Ask`."""
        try:
            return await self._ask(step, member, request)
        except CallFailedError:
            self._progress.call_given_up(step, member.id)
            raise

    async def _ask(self, step: Step, member: MemberConfig, request: Request) -> Answer:
        for earlier in request.earlier:
            if self._resume.has_answer(call_id_of(self._run_tag, step, earlier)):
                request = earlier
        call_id = call_id_of(self._run_tag, step, request)
        past = self._resume.attempts(call_id)
        tries = Tries(self._policy, call_id)
        for attempt in count(1):
            call = Attempt(call_id, attempt, step, member, request)
            try:
                answer = await (self._replay(call, past[attempt]) if attempt in past else self._send(call))
                self._progress.answer_used(step.debate_id)
                return answer
            except RefusedFieldError as refusal:
                # Not one of the failures that the policy counts. The next attempt is adjusted for the field.
                self._resume.adjust(member.provider, member.model, [refusal.field])
            except ProviderFailure as failure:
                if attempt not in past:
                    await self._wait_after(failure, tries, call)
                elif past[attempt].was_cut_short or is_for_now(failure) or tries.may_go_on(failure):
                    continue
                elif attempt < max(past) or (self._retry_failed and failure.kind is not FailureKind.REFUSED):
                    # It was final in an earlier session, and is not any more.
                    tries = Tries(self._policy, call_id)
                else:
                    raise _ended(failure, call_id) from failure
        raise AssertionError("count() never ends")

    async def _wait_after(self, failure: ProviderFailure, tries: Tries, call: Attempt) -> None:
        """Wait until the next attempt after this failure. Raises an error when there will be none."""
        self._progress.call_declined(failure.http_status)
        if failure.kind is FailureKind.STOP:
            self.stop(str(failure))
            raise RunStoppedError(str(failure)) from failure
        if failure.kind is FailureKind.UNSENT:
            # The pacing lets it wait until the provider can be reached.
            return
        if tries.may_go_on(failure):
            await self._wait(tries.wait_s(failure))
            return
        self._count_failure(call, failure)
        raise _ended(failure, call.call_id) from failure

    def _count_failure(self, call: Attempt, failure: ProviderFailure) -> None:
        """Stop the run when a member gives nothing but errors: its opponents' speeches would be bought for nothing.

        A debate that is too long for a judge says nothing about its other debates.
        """
        member = call.member
        if failure.kind not in _ERRORS or (failure.is_too_long and call.step.purpose == "verdict"):
            return
        self._failures[member.id] += 1
        if self._failures[member.id] == self._policy.failures_in_a_row:
            said = f"{self._policy.failures_in_a_row} calls of '{member.id}' in a row ended with errors, the last with"
            self._stop_for(f"{said}: {failure} {needed_change(member, failure) or ''}".rstrip())

    def _stop_for(self, reason: str) -> None:
        """Stop because of calls that have failed, which only a retry asks again."""
        self.stop(reason, RunIncompleteError, f"use `debatebench retry {self._run_tag}`")

    async def _send(self, call: Attempt) -> Answer:
        """One attempt over the network. The slot is released when the reply arrives; the reply is read once durable."""
        tokens, calls_after = estimated_tokens(call.request), call.step.calls_after
        try:
            admission = await self._pacing.admit(call.member, calls_after=calls_after, tokens=tokens)
        except GivenUpError as given_up:
            # Without an attempt, there is no call to refer to.
            call_id = call.call_id if call.attempt > 1 else None
            raise CallFailedError(FailureKind.FAILED, str(given_up), call_id) from None
        with admission:
            await self._afford(call)
            if self._stopping.is_set():
                raise RunStoppedError(self.stop_reason or "The run was stopped.")
            if (reason := self._refusal(call.step, call.member)) is not None:
                raise CallFailedError(FailureKind.FAILED, reason, call.call_id)
            # What another call has found out in the meantime applies to this one.
            call.adjusted = self._resume.adjusted_for(call.member.provider, call.member.model)
            sent_at = self._now()
            self._ledger.sent(call.key, call.possible_cost)
            self._journal.append(call.intent(sent_at))
            limits = admission.sends(call.member, self._policy.unreachable_s)
            self._progress.call_sent(call.member.id)
            is_late = False
            try:
                reply = await self._provider_of(call.member).send(call.request, call.adjusted, limits)
                seq = self._journal.append(call.response(reply))
            except ProviderFailure as failure:
                is_late = failure.is_late
                self._keep(call, sent_at, failure=failure)
                self._see_reachable(call, admission, failure)
                if is_late:
                    self._see_silent(call, admission, limits.whole_s)
                raise
            finally:
                self._progress.call_returned(call.member.id, is_late=is_late)
            admission.replied()
            if reply.status != PROXY_LOGIN:
                self._see_reachable(call, admission)
            if reply.status >= _FIRST_ERROR_STATUS or admission.is_first:
                # It may stop the run, so this slot sends nothing before the reply is understood.
                return await self._settle(call, reply, sent_at, seq, admission)
        return await self._settle(call, reply, sent_at, seq, admission)

    def _see_reachable(self, call: Attempt, admission: Admission, failure: ProviderFailure | None = None) -> None:
        """Note whether the provider could be reached; stop the run when it could not be for too long.

        It also stops at once for a cause that lasts, unless the provider has answered in this run: then it was mended
        before, and may be mended again.
        """
        name = call.member.provider
        if failure is not None and failure.kind is FailureKind.STOP:
            # A proxy refused the connection.
            return
        if failure is None or failure.kind is not FailureKind.UNSENT:
            admission.reached()
            self._progress.provider_reached(name)
            return
        if failure.is_lasting and not admission.was_reached:
            self.stop(str(failure), RunIncompleteError)
            return
        longest_s = self._policy.unreachable_s
        is_over = admission.unreachable(longest_s)
        self._progress.provider_unreachable(name, str(failure), longest_s)
        if is_over:
            self.stop(
                f"{failure} The run has waited for it for {duration_text(longest_s)} (--wait-for-provider).",
                RunIncompleteError,
            )

    def _see_silent(self, call: Attempt, admission: Admission, timeout_s: float) -> None:
        """Give up a model that stays silent: another of its debates would wait as long for nothing."""
        times = admission.silent()
        if times > self._policy.silences:
            admission.give_up(
                f"'{call.member.id}' gave no whole answer {times} times in a row, the last within {timeout_s:g} s, "
                "so it is not asked again in this session."
            )

    async def _settle(self, call: Attempt, reply: Reply, sent_at: datetime, seq: int, admission: Admission) -> Answer:
        """Read a reply once it is durable, and report the result to the pacing."""
        await self._journal.durable(seq, others_follow=self._pacing.in_flight > 0)
        try:
            answer = self._read(call, reply, sent_at)
        except ProviderFailure as failure:
            if failure.kind in (FailureKind.RETRY, FailureKind.AMBIGUOUS) and failure.http_status in TOO_BUSY:
                admission.declined(failure.retry_after_s)
            if failure.kind is not FailureKind.FAILED and not isinstance(failure, RefusedFieldError):
                admission.tried()
            elif (
                self._resume.is_new(call.member)
                and (mend := needed_change(call.member, failure))
                and self._policy.failures_in_a_row
            ):
                said = f"The first request to '{call.member.id}' was rejected, so the run stopped"
                self._stop_for(f"{said}: {failure} {mend}")
            raise
        self._failures.pop(call.member.id, None)
        self._resume.answered.add((call.member.provider, call.member.model))
        admission.tried()
        admission.answered(answer.completion.total_tokens)
        return answer

    async def _afford(self, call: Attempt) -> None:
        """Wait until the limit on cost has room for `call`; stop the run when no request in flight can free any."""
        while not self._stopping.is_set() and not self._ledger.fits(call.possible_cost):
            if self._ledger.in_flight:
                await self._ledger.changed()
                continue
            spent = self._ledger.total
            most = call.possible_cost
            could = "an unknown amount" if most is None else f"up to {amount_text(most)} USD"
            self.stop(
                f"The next request could cost {could} and exceed the limit of {self._ledger.limit} USD: "
                f"{amount_text(spent.known)} USD are spent, and up to {amount_text(spent.possible)} USD more may be.",
                RunIncompleteError,
                "raise --max-cost",
            )

    async def _replay(self, call: Attempt, past: PastAttempt) -> Answer:
        """One attempt as stored in the journal; nothing is sent."""
        call.adjusted = past.adjusted
        if past.response is None:
            raise ProviderFailure(past.kind, past.error)
        reply = reply_of(self._journal.read_at(*past.response))
        return self._read(call, reply, past.sent_at, is_kept=past.is_settled)

    def _read(self, call: Attempt, reply: Reply, sent_at: datetime, *, is_kept: bool = False) -> Answer:
        """Read a durable reply, and journal the outcome of the attempt unless it is stored already."""
        try:
            completion = self._provider_of(call.member).read(reply, call.request, call.adjusted)
        except ProviderFailure as failure:
            if not is_kept:
                self._keep(call, sent_at, reply=reply, failure=failure)
            raise
        if not is_kept:
            self._keep(call, sent_at, reply=reply, completion=completion)
        return Answer(call.call_id, completion, reply.received_at, reply.duration_ms)

    def _keep(
        self,
        call: Attempt,
        sent_at: datetime,
        *,
        reply: Reply | None = None,
        completion: Completion | None = None,
        failure: ProviderFailure | None = None,
    ) -> None:
        """Journal the outcome of an attempt and any part of a cut reply. With a whole reply, the write may wait."""
        counted = completion or (failure.completion if failure is not None else None) or Completion(text="")
        status = status_of(failure)
        usd, cost_source, reason = cost_of(counted, call.member)
        cost = None if usd is None else to_money(usd)
        # An error that ends the run may come after a part of the answer.
        may_be_billed = status in MAY_HAVE_BEEN_BILLED or bool(counted.text)
        is_unpriced = cost is None and may_be_billed
        could_cost = bound_of(counted, call.member, call.possible_cost) if is_unpriced else None
        row = call.row(self._run_tag, sent_at, counted, reply, failure)
        row["cost"] = None if cost is None else str(cost)
        row["cost_source"] = cost_source
        row["unpriced_reason"] = reason if is_unpriced else None
        row["possible_cost"] = None if could_cost is None else str(could_cost)
        known = {name: value for name, value in row.items() if value is not None}
        outcome: dict[str, Any] = {"type": "outcome", "of": "call", "records": {"calls": [known]}}
        if failure is not None and failure.partial_body:
            outcome["partial_body_base64"] = base64.b64encode(failure.partial_body).decode("ascii")
        self._journal.append(outcome, with_next=reply is not None)
        self._ledger.settle(call.key, status, cost, source_of_cost(call.member.provider, cost_source), could_cost)
        self._ledger.serve(call.member.id, counted.service_tier)
        self._progress.call_settled(status, cost)
        if is_unpriced and could_cost is None and self._ledger.limit is not None:
            self.stop(
                f"An answer of '{call.member.id}' has no known cost and no upper bound ({reason}), so the limit of "
                f"{self._ledger.limit} USD cannot be kept.",
                RunIncompleteError,
                f"add that price to the `pricing` of '{call.member.id}', or leave out --max-cost",
            )

    async def _wait(self, seconds: float) -> None:
        """Wait before the next attempt, and count the wait in the progress."""
        self._progress.calls_waiting += 1
        try:
            await self._sleep(seconds)
        finally:
            self._progress.calls_waiting -= 1

    async def _sleep_unless_stopped(self, seconds: float) -> None:
        """Wait, but return at once when the run stops."""
        try:
            await asyncio.wait_for(self._stopping.wait(), seconds)
        except TimeoutError:
            return


def _ended(failure: ProviderFailure, call_id: str) -> CallFailedError:
    """The end of a call whose last attempt failed so."""
    return CallFailedError(failure.kind, str(failure), call_id, is_too_long=failure.is_too_long)
