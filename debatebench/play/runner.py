"""The runner: a frozen plan → debates → judges → journal.

Playing is deterministic except for the answers, and every answer is in the journal before it is used. A restart
therefore plays the same plan again, takes existing answers from the journal and requests only the missing ones.
"""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import Any

import uvloop

from debatebench.config.types import MemberConfig
from debatebench.journal.reading import read_journal
from debatebench.journal.writing import Journal
from debatebench.judges.base import Judgment
from debatebench.plan.estimate import CostEstimate, estimate
from debatebench.plan.judge_calls import JudgeCalls
from debatebench.plan.plan import Plan, PlanPart
from debatebench.plan.prices import with_listed_prices
from debatebench.plan.stored_use import StoredUse
from debatebench.play.before_run import (
    RunSettings,
    Transcripts,
    check_limit,
    check_transcripts,
    judged_turns,
    make_ready,
)
from debatebench.play.calls import DurableCalls, RunStoppedError
from debatebench.play.debate import play_debate
from debatebench.play.debate_records import attacked_turn_records, debate_record, event_rows, injected, participants
from debatebench.play.opening import begin
from debatebench.play.pacing import Pacing
from debatebench.play.panel import judge_debate, panel_reason
from debatebench.play.progress import Progress
from debatebench.play.resume import Resume
from debatebench.providers import provider_key
from debatebench.providers.asking import CallFailedError, Step
from debatebench.providers.base import FailureKind, Provider
from debatebench.providers.endpoints import uses_proxy
from debatebench.shared.advice import NOT_FIT, Vote, advice
from debatebench.shared.errors import InterruptedRunError
from debatebench.shared.problem_texts import clause
from debatebench.shared.records import Debate, Record, ScheduledDebate, Turn, Verdict

# How many debates are started per request that may be in flight.
_DEBATES_PER_SLOT = 2


@dataclass(frozen=True, slots=True)
class RunReport:
    """How a session of a run ended."""

    run_tag: str
    planned: int
    complete: int
    missing: tuple[tuple[str, str], ...]
    """(debate_id, reason) of every planned debate that is neither complete, void nor lost by forfeit."""
    void: tuple[tuple[str, str], ...]
    """(debate_id, reason) of every debate that ended because a provider or debater refused, which is final."""
    forfeits: tuple[tuple[str, str], ...]
    """The same, where the configuration says that such a debate is lost by forfeit."""
    ambiguous_calls: int
    estimate: CostEstimate
    """The expected calls and cost of the whole plan."""
    progress: Progress
    banned: tuple[tuple[str, str], ...] = ()
    """(model_id, reason) of every debater that is banned."""
    adjusted: tuple[tuple[str, str, tuple[str, ...]], ...] = ()
    """(provider, model, fields) of every model that refuses optional fields, and gets requests without them."""


def play_run(
    plan: Plan,
    journal_path: Path,
    settings: RunSettings,
    *,
    environ: Mapping[str, str],
    now: Callable[[], datetime],
    progress: Progress | None = None,
    warn: Callable[[str], None] = lambda _: None,
    part: PlanPart | None = None,
    stored: StoredUse | None = None,
    transcripts: Transcripts | None = None,
) -> RunReport:
    """Play `plan` to its end, or continue what `journal_path` holds of it, and report how it ended.

    `part` is added to a run that has begun, and belongs to its plan from then on. `stored` is what stored answers of
    models used, for the estimate in the report. `transcripts` are the speeches of the stored debates that the plan
    judges, by id.

    Raises `UsageError` when the journal holds another plan or a transcript has changed, `BusyError` when another
    process plays the run, `InterruptedRunError` after SIGINT or SIGTERM, `RunIncompleteError` at the limit on cost,
    `DebatebenchError` when a provider refuses the key or the account. Prices that the plan lacks are read from the
    provider's catalogue, once, when the run begins; problems with that are reported through `warn`.
    """
    progress = progress or Progress()
    ready = make_ready(plan, part, journal_path, settings, environ=environ, warn=warn)
    plan, part = ready.plan, ready.part
    # From today's configuration: the plan of a run that began earlier does not hold the provider limits.
    today = plan if part is None else plan.with_part(part)
    members = (*today.debaters, *today.judges)
    resume = Resume()
    with Journal.open(journal_path, resume.see) as journal:
        for event in read_journal(journal_path) if resume.reopened else ():
            resume.see_reopened(event)
        plan = begin(
            journal,
            resume,
            plan,
            part,
            now(),
            replaceable=settings.replaceable,
            priced=lambda changed: with_listed_prices(changed, environ, warn),
        )
        # It is as large as the plan and no longer needed.
        resume.header = None
        check_limit(plan, settings.max_cost)
        check_transcripts(plan, transcripts or {})
        resume.ledger.limit = settings.max_cost
        # Only debaters are tried with one request first. A judge's first request comes when the debaters have been paid
        # already, and a request that is rejected costs nothing.
        speakers = {debater.id for debater in plan.debaters}
        pacing = Pacing(
            settings.concurrency,
            members,
            is_new=lambda member: member.id in speakers and resume.is_new(member),
            is_proxied=lambda member: uses_proxy(member, environ),
            has_answered=lambda member: not resume.is_new(member),
        )
        return uvloop.run(
            _Session(
                plan, journal, resume, ready.providers, settings, pacing, now, progress, stored, transcripts or {}
            ).play()
        )


class _Session:
    """One session of a run: from opening its journal to the last answer."""

    def __init__(
        self,
        plan: Plan,
        journal: Journal,
        resume: Resume,
        providers: dict[Any, Provider],
        settings: RunSettings,
        pacing: Pacing,
        now: Callable[[], datetime],
        progress: Progress,
        stored: StoredUse | None,
        transcripts: Transcripts,
    ) -> None:
        self._plan = plan
        self._transcripts = transcripts
        self._stored = stored
        self._judge_calls = JudgeCalls(plan)
        self._journal = journal
        self._resume = resume
        self._providers = providers
        self._settings = settings
        self._pacing = pacing
        self._progress = progress
        self._complete = set(resume.complete_debates)
        self._reasons: dict[str, str] = {}
        self._refused: dict[str, str] = {}
        self._asked_again: set[str] = set()
        self._bans = resume.bans
        self._interrupted = False
        self._calls = DurableCalls(
            plan.run_tag,
            journal,
            resume,
            self._provider_of,
            pacing=pacing,
            now=now,
            progress=progress,
            policy=settings.policy,
            retry_failed=settings.retry_failed,
            refusal=self._refusal,
        )

    def _provider_of(self, member: MemberConfig) -> Provider:
        return self._providers[provider_key(member)]

    async def play(self) -> RunReport:
        """Play what is missing, then report how it ended."""
        self._progress.ledger = self._resume.ledger
        self._progress.debates_planned = len(self._plan.debates)
        self._progress.debates_complete = len(self._complete)
        calls = self._judge_calls.calls_by_debate()
        self._progress.plan_calls({each: count for each, count in calls.items() if each not in self._complete})
        if self._settings.retry_failed:
            self._lift_bans()
        self._ban_the_silent()
        todo = (debate for debate in self._plan.debates if debate.debate_id not in self._complete)
        with self._signals():
            try:
                await self._work(todo)
            finally:
                for provider in self._providers.values():
                    await provider.aclose()
        await self._journal.durable(self._journal.count)
        ended = list(self._not_complete())
        self._progress.void = tuple(each for each in ended if self._refused.get(each[0]) == "void")
        self._progress.forfeits = tuple(each for each in ended if self._refused.get(each[0]) == "forfeit")
        self._progress.missing = tuple(each for each in ended if each[0] not in self._refused)
        if self._interrupted:
            raise InterruptedRunError(
                f"Run '{self._plan.run_tag}' was interrupted with {self._progress.debates_complete} of "
                f"{len(self._plan.debates)} debates complete; run the same command again to resume."
            )
        if self._calls.stop_reason is not None:
            raise self._calls.stop_error(self._calls.stop_reason)
        return RunReport(
            self._plan.run_tag,
            len(self._plan.debates),
            self._progress.debates_complete,
            self._progress.missing,
            self._progress.void,
            self._progress.forfeits,
            self._resume.cut_short,
            estimate(self._plan, self._stored),
            self._progress,
            tuple(sorted(self._bans.reasons.items())),
            tuple((*model, tuple(sorted(fields))) for model, fields in sorted(self._resume.adjusted.items())),
        )

    def _not_complete(self) -> Iterator[tuple[str, str]]:
        """Every planned debate that is not complete, and why; counted from the plan, so that none is lost."""
        for debate in self._plan.debates:
            if debate.debate_id not in self._complete:
                yield debate.debate_id, self._reasons.get(debate.debate_id, "The debate was not finished.")

    async def _work(self, todo: Iterator[ScheduledDebate]) -> None:
        """A few workers for each request that may be in flight, each taking one debate after another.

        While some answers are being made durable and some chains end, the other workers have enough requests. A debate
        takes no memory and does not start before a worker takes it. A worker that fails for a reason unrelated to an
        answer (a full disk, a bug) stops the others; they finish the request in flight, and the failure is raised.
        """
        count = min(_DEBATES_PER_SLOT * self._settings.concurrency, len(self._plan.debates))
        workers = [asyncio.create_task(self._take_debates(todo)) for _ in range(count)]
        for worker in workers:
            worker.add_done_callback(self._stop_after_failure)
        for result in await asyncio.gather(*workers, return_exceptions=True):
            if isinstance(result, BaseException) and not isinstance(result, RunStoppedError | asyncio.CancelledError):
                raise result

    def _stop_after_failure(self, worker: asyncio.Task[None]) -> None:
        if not worker.cancelled() and (error := worker.exception()) is not None:
            self._calls.stop(str(error))

    async def _take_debates(self, todo: Iterator[ScheduledDebate]) -> None:
        for debate in todo:
            await self._play_one(debate)

    async def _play_one(self, scheduled: ScheduledDebate) -> None:
        """Play and judge one debate, and journal its outcome."""
        if (reason := self._ban_of(scheduled) or self._silence_of(scheduled)) is not None:
            self._leave_out(scheduled, reason)
            return
        turns: list[Turn] = []
        judged: Sequence[Turn] = ()
        judgments: list[Judgment] = []
        status, reason, silent = "complete", None, None
        try:
            async for turn in play_debate(
                scheduled,
                self._plan,
                self._calls,
                partial(self._may_ask_again, scheduled.debate_id),
                calls_of_panel=self._judge_calls.depth(scheduled),
            ):
                turns.append(turn)
            is_stored = scheduled.source_debate_id is not None
            judged = judged_turns(self._plan, scheduled, self._transcripts) if is_stored else turns
            judgments = await judge_debate(
                scheduled,
                judged,
                self._plan,
                self._calls,
                partial(self._may_ask_again, scheduled.debate_id),
                self._judge_calls,
            )
        except CallFailedError as failure:
            status = self._plan.config.on_refusal if failure.kind is FailureKind.REFUSED else "incomplete"
            reason = f"{clause(str(failure))}: the prompt does {NOT_FIT}." if failure.is_too_long else str(failure)
            silent = _next_speaker(scheduled, self._plan, turns) if failure.kind is FailureKind.EMPTY else None
        verdicts = [judgment.verdict for judgment in judgments]
        valid = sum(verdict.is_valid for verdict in verdicts)
        if status == "complete" and valid < len(scheduled.panel):
            status, reason = "incomplete", panel_reason(len(scheduled.panel), verdicts)
        debate = debate_record(self._plan, scheduled, status, reason, turns, verdicts)
        is_refused = status in ("void", "forfeit")
        if is_refused:
            debate = debate.model_copy(update={"refused_by": self._plan.config.rounds[len(turns)].side})
        notes = (note for judgment in judgments for note in judgment.notes)
        weaknesses = injected(self._plan, scheduled, turns)
        altered = attacked_turn_records(self._plan, scheduled, judged)
        records = (*participants(self._plan, scheduled), *turns, *altered, *weaknesses, *verdicts, *notes)
        if self._keep(debate, *records, silent=silent):
            self._bans.debate_ended(scheduled.speakers.values(), is_complete=status == "complete", silent=silent)
            self._ban_the_silent()
        if status == "complete":
            self._complete.add(scheduled.debate_id)
        else:
            self._reasons[scheduled.debate_id] = reason or status
            self._advise(scheduled, verdicts, reason)
        if is_refused:
            self._refused[scheduled.debate_id] = status
        self._progress.debate_ended(debate)

    def _may_ask_again(self, debate_id: str, number: int) -> bool:
        """Whether a debater without a speech or judges without a vote are asked again for the `number`-th time.

        An earlier session did, or this one shall, once, because the debate ended incomplete before it.
        """
        granted = self._resume.again[debate_id]
        if number > granted and self._settings.retry_failed and self._resume.has_ended(debate_id):
            if debate_id in self._asked_again:
                return False
            self._asked_again.add(debate_id)
            self._journal.append({"type": "again", "debate_id": debate_id}, with_next=True)
            self._resume.again[debate_id] += 1
            return True
        return number <= granted

    def _keep(self, debate: Debate, *others: Record, silent: str | None = None) -> bool:
        """Journal the outcome of a debate, unless an earlier session did; returns whether this one did.

        Its answers are already durable, so this write may be delayed.
        """
        rows = event_rows((debate, *others))
        if self._resume.is_kept(debate.debate_id, rows):
            return False
        outcome = {"type": "outcome", "of": "debate", "debate_id": debate.debate_id, "records": rows}
        self._journal.append(outcome if silent is None else {**outcome, "silent": silent})
        return True

    def _refusal(self, step: Step, member: MemberConfig) -> str | None:
        """Why no request is sent to a member: it was banned during the debate."""
        return self._bans.reasons.get(member.id) if step.purpose == "turn" else None

    def _ban_of(self, scheduled: ScheduledDebate) -> str | None:
        """Why a debate cannot be played: one of its debaters is banned."""
        reasons = self._bans.reasons
        return next((reasons[debater] for debater in scheduled.speakers.values() if debater in reasons), None)

    def _silence_of(self, scheduled: ScheduledDebate) -> str | None:
        """Why not to begin a debate: the model of one debater was given up, so the other would speak in vain."""
        if scheduled.source_debate_id is not None or self._resume.has_begun(scheduled.debate_id):
            return None
        found = (self._pacing.given_up(self._plan.debater(debater)) for debater in scheduled.speakers.values())
        return next(filter(None, found), None)

    def _leave_out(self, scheduled: ScheduledDebate, reason: str) -> None:
        """Journal that a debate is not played; turns from an earlier start are kept."""
        debate = debate_record(self._plan, scheduled, "incomplete", reason, [], [])
        if not self._resume.has_ended(scheduled.debate_id):
            self._keep(debate, *participants(self._plan, scheduled))
        self._reasons[scheduled.debate_id] = reason
        self._advise(scheduled, (), reason)
        self._progress.debate_ended(debate)

    def _advise(self, scheduled: ScheduledDebate, verdicts: Sequence[Verdict], reason: str | None) -> None:
        """Keep for the report what helps a debate that is not complete."""
        self._progress.advice[scheduled.debate_id] = advice(
            self._plan.named,
            scheduled.panel,
            map(Vote.of, verdicts),
            reason,
            may_add_judges=self._plan.may_add_judges,
        )

    def _ban_the_silent(self) -> None:
        """Journal a ban of every debater whose streak of missing speeches has reached the limit."""
        limit = self._settings.empty_debates
        for debater in self._bans.due(limit) if limit is not None else ():
            reason = (
                f"Debater '{debater}' is banned: {self._bans.silences[debater]} of its debates in a row ended because "
                "it gave no speech."
            )
            self._journal.append({"type": "ban", "model_id": debater, "reason": reason})
            self._bans.ban(debater, reason)

    def _lift_bans(self) -> None:
        for debater in sorted(self._bans.reasons):
            self._journal.append({"type": "ban_lifted", "model_id": debater})
            self._bans.lift(debater)

    @contextmanager
    def _signals(self) -> Iterator[None]:
        """SIGINT and SIGTERM stop new calls; a second one, or the end of the grace time, ends the process at once."""
        loop = asyncio.get_running_loop()

        def interrupt() -> None:
            if self._interrupted:
                _leave_now()
            self._interrupted = True
            self._calls.stop("The run was interrupted.")
            self._progress.run_stops()
            loop.call_later(self._settings.grace_s, _leave_now)

        before = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
        # The process that started this one in the background may have set signals to be ignored on purpose.
        handled = [number for number, handler in before.items() if handler is not signal.SIG_IGN]
        try:
            for number in handled:
                loop.add_signal_handler(number, interrupt)
        except (ValueError, RuntimeError):
            # Not in the main thread (a notebook, a server): the host process keeps its signal handlers.
            yield
            return
        try:
            yield
        finally:
            for number in handled:
                loop.remove_signal_handler(number)
                signal.signal(number, before[number])


def _leave_now() -> None:
    """End the process immediately: every event is in the file already, and requests in flight are listed there."""
    os._exit(InterruptedRunError.exit_code)


def _next_speaker(scheduled: ScheduledDebate, plan: Plan, turns: list[Turn]) -> str:
    """The debater whose speech would have followed `turns`."""
    return scheduled.speakers[plan.config.rounds[len(turns)].role]
