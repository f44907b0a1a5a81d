"""The runner: a frozen plan → debates → judges → journal.

Playing is deterministic but for the answers, and every answer is in the journal before it is used. So a restart plays
the same plan again, takes from the journal what is there, and asks only what is missing.
"""

from __future__ import annotations

import asyncio
import os
import resource
import shutil
import signal
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from debatebench.calls import CallFailedError, DurableCalls, RetryPolicy, RunStoppedError
from debatebench.debate import play_debate
from debatebench.errors import DamagedDataError, DebatebenchError, InterruptedRunError, UsageError
from debatebench.files import make_folder
from debatebench.journal import JOURNAL_FORMAT, Journal
from debatebench.judges.panel import judge_debate
from debatebench.progress import Progress
from debatebench.providers import is_simulated, make_provider, provider_key
from debatebench.providers.base import FailureKind
from debatebench.records import Debate, Participant, Record, ScheduledDebate, Turn, Verdict
from debatebench.resume import Resume
from debatebench.schedule import Plan, run_records

if TYPE_CHECKING:
    from debatebench.config import ModelConfig
    from debatebench.providers.base import Provider

__all__ = ["RunReport", "RunSettings", "play_run"]

_LEAST_FREE_BYTES = 64 * 1024 * 1024
# For everything that is no connection: journal, warehouse, libraries, terminal.
_OTHER_FILES = 64


@dataclass(frozen=True, slots=True)
class RunSettings:
    """How a plan is played, as opposed to what is planned; two sessions of one run may differ in these."""

    concurrency: int = 32
    retry_failed: bool = False
    policy: RetryPolicy = field(default_factory=RetryPolicy)
    grace_s: float = 120.0
    """How long requests in flight are awaited after an interrupt."""


@dataclass(frozen=True, slots=True)
class RunReport:
    """How a session of a run ended."""

    run_tag: str
    planned: int
    complete: int
    missing: tuple[tuple[str, str], ...]
    """(debate_id, reason) of every planned debate that is not complete."""
    ambiguous_calls: int
    progress: Progress


def play_run(
    plan: Plan,
    journal_path: Path,
    settings: RunSettings,
    *,
    environ: Mapping[str, str],
    now: Callable[[], datetime],
    progress: Progress | None = None,
) -> RunReport:
    """Play `plan` to its end, or go on with what `journal_path` holds of it, and say how it ended.

    Raises `UsageError` when the journal holds another plan, `BusyError` when another process plays the run,
    `InterruptedRunError` after SIGINT or SIGTERM, `DebatebenchError` when a provider refuses the key or the account.
    """
    progress = progress or Progress()
    providers = _open_providers(plan, environ)
    _check_free_space(journal_path)
    _allow_connections(settings.concurrency, providers)
    resume = Resume()
    with Journal.open(journal_path, resume.see) as journal:
        plan = _begin(journal, resume, plan, now())
        # It is as large as the plan, and nobody needs it again.
        resume.header = None
        return asyncio.run(_Session(plan, journal, resume, providers, settings, now, progress).play())


def _open_providers(plan: Plan, environ: Mapping[str, str]) -> dict[Any, Provider]:
    """One provider for all members that can share it; a missing key or unknown provider stops before any call."""
    providers: dict[Any, Provider] = {}
    for member in (*plan.debaters, *plan.judges):
        key = provider_key(member)
        if key not in providers:
            providers[key] = make_provider(member, environ)
    return providers


def _check_free_space(journal_path: Path) -> None:
    """Refuse to buy answers that the disk cannot hold."""
    try:
        make_folder(journal_path.parent)
        free = shutil.disk_usage(journal_path.parent).free
    except OSError as error:
        raise DebatebenchError(f"{journal_path.parent} cannot hold the journal: {error.strerror}.") from error
    if free < _LEAST_FREE_BYTES:
        raise DebatebenchError(
            f"Only {free // 2**20} MiB are free for {journal_path}; "
            f"make at least {_LEAST_FREE_BYTES // 2**20} MiB free first."
        )


def _allow_connections(concurrency: int, providers: Mapping[Any, Provider]) -> None:
    """Let this process open as many files as requests may be in flight, or refuse before the first connection fails.

    A connection stays open for a while after its request, and every provider has its own.
    """
    hosted = sum(not provider.is_simulated for provider in providers.values())
    if not hosted:
        return
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    least, enough = concurrency + _OTHER_FILES, concurrency * hosted + _OTHER_FILES
    most = enough if hard == resource.RLIM_INFINITY else hard
    if most < least:
        raise UsageError(
            f"--concurrency {concurrency} needs {least} open files, and this process may have {most}: "
            "lower it, or raise the limit (`ulimit -Hn`)."
        )
    if soft != resource.RLIM_INFINITY and soft < enough:
        resource.setrlimit(resource.RLIMIT_NOFILE, (min(enough, most), hard))


def _begin(journal: Journal, resume: Resume, plan: Plan, now: datetime) -> Plan:
    """Write the header of a new run, or check that an old one is the same run; the plan that is to be played."""
    if resume.header is None:
        records: dict[str, list[dict[str, Any]]] = {}
        simulated = {m.provider for m in (*plan.debaters, *plan.judges) if is_simulated(m.provider)}
        for record in run_records(plan, now, simulated):
            records.setdefault(record.table, []).append(_as_json(record))
        journal.append({"type": "header", "format": JOURNAL_FORMAT, "plan": plan.to_json(), "records": records})
        return plan
    try:
        frozen = Plan.from_json(resume.header["plan"])
    except ValueError as error:
        raise DamagedDataError(
            f"{journal.path} holds a plan that this version of debatebench does not understand; "
            "use the version that wrote it, or a newer one."
        ) from error
    differences = frozen.differences(plan)
    if differences:
        raise UsageError(
            f"Run '{plan.run_tag}' was begun with other inputs: {'; '.join(differences)}. "
            "Restore them to go on, or choose another --run-tag."
        )
    return frozen


def _as_json(record: Record) -> dict[str, Any]:
    return record.model_dump(mode="json", exclude_defaults=True)


class _Session:
    """One session of a run: from opening its journal to the last answer."""

    def __init__(
        self,
        plan: Plan,
        journal: Journal,
        resume: Resume,
        providers: dict[Any, Provider],
        settings: RunSettings,
        now: Callable[[], datetime],
        progress: Progress,
    ) -> None:
        self._plan = plan
        self._journal = journal
        self._resume = resume
        self._providers = providers
        self._settings = settings
        self._progress = progress
        self._complete = set(resume.complete_debates)
        self._reasons: dict[str, str] = {}
        self._interrupted = False
        self._calls = DurableCalls(
            plan.run_tag,
            journal,
            resume,
            self._provider_of,
            concurrency=settings.concurrency,
            now=now,
            progress=progress,
            policy=settings.policy,
            retry_failed=settings.retry_failed,
        )

    def _provider_of(self, member: ModelConfig) -> Provider:
        return self._providers[provider_key(member)]

    async def play(self) -> RunReport:
        """Play what is missing, then say how it ended."""
        self._progress.debates_planned = len(self._plan.debates)
        self._progress.debates_complete = len(self._complete)
        todo = iter([d for d in self._plan.debates if d.debate_id not in self._complete])
        with self._signals():
            try:
                await self._work(todo)
            finally:
                for provider in self._providers.values():
                    await provider.aclose()
        await self._journal.durable(self._journal.count)
        if self._interrupted:
            raise InterruptedRunError(
                f"Run '{self._plan.run_tag}' was interrupted with {self._progress.debates_complete} of "
                f"{len(self._plan.debates)} debates complete; start it again to go on."
            )
        if self._calls.stop_reason is not None:
            raise DebatebenchError(f"{self._calls.stop_reason} Nothing answered is lost; start the run again to go on.")
        return RunReport(
            self._plan.run_tag,
            len(self._plan.debates),
            self._progress.debates_complete,
            tuple(self._missing()),
            self._resume.cut_short,
            self._progress,
        )

    def _missing(self) -> Iterator[tuple[str, str]]:
        """Every planned debate that is not complete, and why; counted from the plan, so that none gets lost."""
        for debate in self._plan.debates:
            if debate.debate_id not in self._complete:
                yield debate.debate_id, self._reasons.get(debate.debate_id, "It was not played to its end.")

    async def _work(self, todo: Iterator[ScheduledDebate]) -> None:
        """As many workers as requests may be in flight, each taking one debate after the other.

        A worker that fails for a reason that is nobody's answer (a full disk, a bug) stops the others; they finish the
        request they wait for, and the failure is raised.
        """
        workers = [asyncio.create_task(self._take_debates(todo)) for _ in range(self._settings.concurrency)]
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
        """Play and judge one debate, and journal what became of it."""
        turns: list[Turn] = []
        verdicts: list[Verdict] = []
        status, reason = "complete", None
        try:
            async for turn in play_debate(scheduled, self._plan, self._calls):
                turns.append(turn)
            verdicts = await judge_debate(scheduled, turns, self._plan, self._calls)
        except CallFailedError as failure:
            status = "void" if failure.kind is FailureKind.REFUSED else "incomplete"
            reason = str(failure)
        valid = sum(verdict.is_valid for verdict in verdicts)
        if status == "complete" and valid < len(scheduled.panel):
            status, reason = "incomplete", _panel_reason(scheduled, verdicts, valid)
        debate = _debate_record(self._plan.run_tag, scheduled, status, reason, turns, verdicts)
        self._keep(debate, *_participants(self._plan.run_tag, scheduled), *turns, *verdicts)
        if status == "complete":
            self._complete.add(scheduled.debate_id)
        else:
            self._reasons[scheduled.debate_id] = reason or status
        self._progress.debate_ended(debate)

    def _keep(self, debate: Debate, *others: Record) -> None:
        """Journal what became of a debate, unless an earlier session did. Its answers are durable, so it may wait."""
        rows: dict[str, list[dict[str, Any]]] = {}
        for record in (debate, *others):
            rows.setdefault(record.table, []).append(_as_json(record))
        if not self._resume.is_kept(debate.debate_id, rows):
            self._journal.append({"type": "outcome", "of": "debate", "debate_id": debate.debate_id, "records": rows})

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
        # Whoever started this process in the background had a reason to have signals ignored.
        handled = [number for number, handler in before.items() if handler is not signal.SIG_IGN]
        try:
            for number in handled:
                loop.add_signal_handler(number, interrupt)
        except (ValueError, RuntimeError):
            # Not in the main thread (a notebook, a server): signals stay with whoever owns them.
            yield
            return
        try:
            yield
        finally:
            for number in handled:
                loop.remove_signal_handler(number)
                signal.signal(number, before[number])


def _leave_now() -> None:
    """End the process without another word: every event is in the file already, and what is in flight is listed."""
    os._exit(InterruptedRunError.exit_code)


def _panel_reason(scheduled: ScheduledDebate, verdicts: list[Verdict], valid: int) -> str:
    invalid = ", ".join(f"{v.judge_id}: {v.invalid_reason}" for v in verdicts if not v.is_valid)
    return f"{valid} of {len(scheduled.panel)} judges gave a valid verdict ({invalid}) and the pool has no other."


def _participants(run_tag: str, scheduled: ScheduledDebate) -> tuple[Participant, Participant]:
    return (
        Participant(
            run_tag=run_tag,
            debate_id=scheduled.debate_id,
            position="pro",
            model_id=scheduled.pro_model_id,
            side="pro",
        ),
        Participant(
            run_tag=run_tag,
            debate_id=scheduled.debate_id,
            position="con",
            model_id=scheduled.con_model_id,
            side="con",
        ),
    )


def _debate_record(
    run_tag: str,
    scheduled: ScheduledDebate,
    status: Any,
    reason: str | None,
    turns: list[Turn],
    verdicts: list[Verdict],
) -> Debate:
    """The row of `raw.debates`: everything in it follows from the plan and from journalled answers."""
    said: list[Turn | Verdict] = [*turns, *verdicts]
    times = [record.created_at for record in said if record.created_at is not None]
    latencies = [verdict.latency_ms for verdict in verdicts if verdict.latency_ms is not None]
    return Debate(
        run_tag=run_tag,
        debate_id=scheduled.debate_id,
        source_position=scheduled.schedule_position,
        schedule_position=scheduled.schedule_position,
        topic_id=scheduled.topic_id,
        pro_model_id=scheduled.pro_model_id,
        con_model_id=scheduled.con_model_id,
        repetition=scheduled.repetition,
        debate_seed=scheduled.debate_seed,
        status=status,
        status_reason=reason,
        created_at=max(times, default=None),
        judges_expected=len(scheduled.panel),
        judges_actual=sum(verdict.is_valid for verdict in verdicts),
        panel_latency_ms=max(latencies, default=None),
    )
