"""All that can refuse a run before its first request: for the run itself, and for a dry run, which plays nothing."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from decimal import Decimal
from pathlib import Path
from typing import Any, cast

from debatebench.journal.events import pass_on
from debatebench.journal.reading import check_free, has_begun, read_journal
from debatebench.journal.writing import Journal
from debatebench.plan.attacks import attacked_turns
from debatebench.plan.judge_calls import JudgeCalls, RestOfDebate
from debatebench.plan.plan import Plan, PlanPart
from debatebench.plan.prices import with_listed_prices
from debatebench.plan.source import hash_of_speeches
from debatebench.play.budget import check_affordable
from debatebench.play.opening import allow_connections, begin, check_free_space, open_providers
from debatebench.play.remaining import Remaining
from debatebench.play.resume import Resume
from debatebench.play.retries import RetryPolicy
from debatebench.providers.base import Provider
from debatebench.providers.endpoints import unread_exceptions
from debatebench.shared.errors import UsageError
from debatebench.shared.records import ScheduledDebate, Turn

Transcripts = Mapping[str, Sequence[Turn]]
"""The speeches of stored debates, by the id of the debate."""


@dataclass(frozen=True, slots=True)
class RunSettings:
    """How a plan is played, as opposed to what is planned; two sessions of one run may have different settings."""

    concurrency: int = 32
    retry_failed: bool = False
    """Send again the requests that had failed for good; also lifts bans."""
    empty_debates: int | None = None
    """Ban a debater after this many consecutive debates ended because it gave no speech; None never bans one."""
    policy: RetryPolicy = field(default_factory=RetryPolicy)
    max_cost: Decimal | None = None
    """The USD that the run may cost over all its sessions, in the worst case; None for no limit."""
    replaceable: frozenset[str] = frozenset()
    """Ids of debaters and judges whose changed parameters a begun run may go on with, although they have answered."""
    grace_s: float = 120.0
    """How long requests in flight are awaited after an interrupt."""


@dataclass(frozen=True, slots=True)
class Ready:
    """A plan that can be played, with the catalogue's prices if the run is new, and its providers."""

    plan: Plan
    part: PlanPart | None
    providers: dict[Any, Provider]


@dataclass(frozen=True, slots=True)
class CheckedRun:
    """A run that can begin or go on.

    `plan` is the whole plan that would be played: for a run that has begun, the one in its journal.
    """

    ready: Ready
    plan: Plan
    has_begun: bool
    resume: Resume
    remaining: Remaining

    def left(self, debate: ScheduledDebate) -> RestOfDebate:
        """The calls that are left of a debate."""
        return self.remaining.left(debate, self.plan)

    def advice(self) -> Iterator[str]:
        """What helps each debate that ended incomplete and that this session cannot complete."""
        return filter(None, (self.remaining.advice(debate, self.plan) for debate in self.plan.debates))


def make_ready(
    plan: Plan,
    part: PlanPart | None,
    journal_path: Path,
    settings: RunSettings,
    *,
    environ: Mapping[str, str],
    warn: Callable[[str], None],
) -> Ready:
    """Check what needs no journal: providers, keys, addresses, disk, open files, prices and the limit on cost.

    Raises `UsageError` or `DebatebenchError`. Nothing is written; only catalogues of prices are read.
    """
    whole = plan if part is None else plan.with_part(part)
    providers = open_providers(whole, environ)
    for judge_id, count in JudgeCalls(whole).too_long().items():
        debates, verdicts = (
            ("a debate does", "verdict on it") if count == 1 else (f"{count:,} debates do", "verdicts on them")
        )
        warn(
            f"{debates} not fit the context window of judge '{judge_id}' ({whole.judge(judge_id).context_window:,} "
            f"tokens in judges.yaml), so its {verdicts} will be incomplete."
        )
    members = (*whole.debaters, *whole.asked_judges)
    if unread := dict.fromkeys(entry for member in members for entry in unread_exceptions(member, environ)):
        warn(
            f"NO_PROXY names no host by {', '.join(map(repr, unread))}: write a name, an address or a network such as "
            "10.0.0.0/8, with a port if need be."
        )
    check_free_space(journal_path)
    allow_connections(settings.concurrency, providers)
    if not (journal_path.is_file() and has_begun(journal_path)):
        if plan.shard is None:
            # The prices of a shard are those of its plan, or shards would count in different ones.
            plan = with_listed_prices(plan, environ, warn)
        check_limit(plan, settings.max_cost)
    elif part is not None:
        newcomers = with_listed_prices(plan.with_members(part.debaters, part.judges), environ, warn)
        part = part.model_copy(update={"debaters": newcomers.debaters, "judges": newcomers.judges})
        check_limit(newcomers, settings.max_cost)
    return Ready(plan, part, providers)


def check_limit(plan: Plan, max_cost: Decimal | None) -> None:
    """Reject a limit on cost that cannot be guaranteed, before there is a journal or a request."""
    if max_cost is not None:
        check_affordable(plan)


def check_transcripts(plan: Plan, transcripts: Transcripts) -> None:
    """Reject stored debates that are not those with which the run began. Raises `UsageError`."""
    for debate in plan.source.debates if plan.source is not None else ():
        turns = transcripts.get(debate.debate_id)
        if turns is None or hash_of_speeches(turns) != debate.sha256:
            what = "is no longer stored" if turns is None else "has other speeches now"
            raise UsageError(
                f"Debate '{debate.debate_id}' {what}, and run '{plan.run_tag}' began with it: restore it to go on, or "
                "judge the debates under another tag."
            )
    for scheduled in plan.debates:
        copy = plan.copies.get(scheduled.debate_id)
        if copy is not None and hash_of_speeches(judged_turns(plan, scheduled, transcripts)) != copy.sha256:
            raise UsageError(
                f"This version of debatebench alters debate '{scheduled.debate_id}' in another way than run "
                f"'{plan.run_tag}' began with: probe the judges under another tag."
            )


def judged_turns(plan: Plan, debate: ScheduledDebate, transcripts: Transcripts) -> Sequence[Turn]:
    """The speeches that the judges of a stored debate read: as they are stored, or as the attack alters them."""
    turns = transcripts[debate.source_debate_id or ""]
    if debate.attack is None or debate.attack_side is None:
        return turns
    motion = plan.topic(debate.topic_id).motion
    return attacked_turns(turns, plan.attack(debate.attack), debate.attack_side, motion, plan.config)


def check_run(
    plan: Plan,
    part: PlanPart | None,
    journal_path: Path,
    settings: RunSettings,
    *,
    environ: Mapping[str, str],
    warn: Callable[[str], None],
    now: datetime,
) -> CheckedRun:
    """Do what a run does before its first request, without writing to the journal.

    Raises the errors of `play_run`. What it returns is true until another process plays the run.
    """
    ready = make_ready(plan, part, journal_path, settings, environ=environ, warn=warn)
    check_free(journal_path)
    resume = Resume()
    remaining = Remaining(resume, retry_failed=settings.retry_failed)
    if journal_path.exists():
        for event in read_journal(journal_path):
            pass_on(journal_path, event, remaining.see)
    is_begun = resume.header is not None
    whole = begin(
        cast("Journal", _Unwritten(journal_path)),
        resume,
        ready.plan,
        ready.part,
        now,
        replaceable=settings.replaceable,
        priced=lambda changed: with_listed_prices(changed, environ, warn),
    )
    check_limit(whole, settings.max_cost)
    return CheckedRun(ready, whole, is_begun, resume, remaining)


@dataclass(frozen=True, slots=True)
class _Unwritten:
    """Stands for the journal at `path`, and writes nothing to it."""

    path: Path

    def append(self, _data: dict[str, Any], *, with_next: bool = False) -> int:
        return 0
