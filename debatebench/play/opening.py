"""The steps before the first request of a run: providers, disk space, connections, and the plan in the journal."""

from __future__ import annotations

import resource
import shutil
from collections.abc import Callable, Collection, Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any

from debatebench.config.types import MemberConfig
from debatebench.journal.lines import JOURNAL_FORMAT
from debatebench.journal.shards import header_of, shard_header
from debatebench.journal.writing import Journal
from debatebench.plan.plan import MemberChange, Plan, PlannedShard, PlanPart, begun_plan
from debatebench.plan.plan_differences import allowed_changes, plan_differences
from debatebench.plan.plan_records import part_records, run_records
from debatebench.plan.prices import with_prices_of
from debatebench.play.debate_records import event_rows
from debatebench.play.resume import Resume
from debatebench.providers import is_simulated, make_provider, provider_key
from debatebench.providers.base import Provider
from debatebench.shared.errors import DebatebenchError, UsageError
from debatebench.shared.files import make_folder

_LEAST_FREE_BYTES = 64 * 1024 * 1024
# For everything that is not a connection: journal, warehouse, libraries, terminal.
_OTHER_FILES = 64
# What the journal of a shard repeats of the plan: entries that may change later.
_MEMBERS = ("debaters", "judges")


def open_providers(plan: Plan, environ: Mapping[str, str]) -> dict[Any, Provider]:
    """One provider for all members that can share it; a missing key or unknown provider is an error before any call."""
    providers: dict[Any, Provider] = {}
    for member in (*plan.debaters, *plan.asked_judges):
        key = provider_key(member)
        if key not in providers:
            providers[key] = make_provider(member, environ)
    return providers


def check_free_space(journal_path: Path) -> None:
    """Raise an error when the disk has too little space for the answers."""
    try:
        make_folder(journal_path.parent)
        free = shutil.disk_usage(journal_path.parent).free
    except OSError as error:
        raise DebatebenchError(f"The journal cannot be written to {journal_path.parent}: {error.strerror}.") from error
    if free < _LEAST_FREE_BYTES:
        raise DebatebenchError(
            f"Only {free // 2**20} MiB are free for {journal_path}; free at least {_LEAST_FREE_BYTES // 2**20} MiB "
            "first."
        )


def allow_connections(concurrency: int, providers: Mapping[Any, Provider]) -> None:
    """Raise this process's limit of open files to the possible requests in flight; raise an error if that fails.

    A connection stays open for a while after its request, and every provider has its own connections.
    """
    hosted = sum(not provider.is_simulated for provider in providers.values())
    if not hosted:
        return
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    least, enough = concurrency + _OTHER_FILES, concurrency * hosted + _OTHER_FILES
    most = enough if hard == resource.RLIM_INFINITY else hard
    if most < least:
        raise UsageError(
            f"--concurrency {concurrency} needs {least} open files, but this process may have only {most}: lower it, "
            "or raise the limit (`ulimit -Hn`)."
        )
    if soft != resource.RLIM_INFINITY and soft < enough:
        resource.setrlimit(resource.RLIMIT_NOFILE, (min(enough, most), hard))


def begin(
    journal: Journal,
    resume: Resume,
    plan: Plan,
    part: PlanPart | None,
    now: datetime,
    *,
    replaceable: Collection[str] = (),
    priced: Callable[[Plan], Plan] = lambda plan: plan,
) -> Plan:
    """Write the header of a new run, or check that an existing one is the same run; returns the plan to play.

    An existing run goes on with the entries that have changed since, where `allowed_changes` allows it; `priced` adds
    prices that they lack.
    """
    if plan.shard is not None:
        _begin_shard(journal, resume, plan, plan.shard, now)
        return plan
    if resume.header is None:
        if part is not None:
            raise UsageError(
                f"Run '{plan.run_tag}' has not begun, so nothing can be added to it: leave --new-model and "
                "--new-judge out."
            )
        records = event_rows(run_records(plan, now, _simulated_among(*plan.debaters, *plan.judges)))
        journal.append({"type": "header", "format": JOURNAL_FORMAT, "plan": plan.to_json(), "records": records})
        return plan
    frozen = begun_plan(journal.path, resume.header["plan"], resume.parts)
    plan = with_prices_of(plan, frozen)
    changes = allowed_changes(frozen, plan, lambda role, id_: (role, id_) in resume.answered_by, replaceable)
    changed = _part_of(changes, frozen, plan, priced) if changes else None
    differences = plan_differences(frozen if changed is None else frozen.with_part(changed), plan)
    if differences:
        raise UsageError(
            f"Run '{plan.run_tag}' was started with other inputs: {'; '.join(differences)}. Restore them to resume "
            f"it, or choose another {'--run-tag' if plan.source is None else '--as'}{_way_to_go_on(frozen, plan)}."
        )
    for added in (changed, part):
        if added is not None:
            rows = event_rows(part_records(frozen, added, _simulated_among(*plan.debaters, *plan.judges)))
            journal.append({"type": "part", "part": added.model_dump(mode="json"), "records": rows})
            frozen = frozen.with_part(added)
    return frozen


def _begin_shard(journal: Journal, resume: Resume, plan: Plan, shard: PlannedShard, now: datetime) -> None:
    """Write the header of the journal of a shard, or check that an existing one is of the same shard."""
    if resume.header is None:
        header = shard_header(shard.shard, plan.run_tag, shard.plan_sha256, now.isoformat())
        simulated = _simulated_among(*plan.debaters, *plan.judges)
        records = event_rows(each for each in run_records(plan, now, simulated) if each.table in _MEMBERS)
        journal.append({"type": "header", "format": JOURNAL_FORMAT, **header, "records": records})
        return
    there = header_of(journal.path, resume.header)
    if (there.run_tag, there.shard, there.plan_sha256) != (plan.run_tag, shard.shard, shard.plan_sha256):
        raise UsageError(
            f"{journal.path} is shard {there.shard} of the plan {there.plan_sha256[:12]} of run '{there.run_tag}', and "
            f"this is shard {shard.shard} of {shard.plan_sha256[:12]}: play the plan with which it began, or move the "
            "journal elsewhere."
        )


def _part_of(changes: Sequence[MemberChange], frozen: Plan, plan: Plan, priced: Callable[[Plan], Plan]) -> PlanPart:
    """The part of a plan that holds the changes, with prices."""
    debaters, judges = ([c.entry for c in changes if c.role == role] for role in ("debater", "judge"))
    entries = priced(frozen.with_members(debaters, judges))
    known = {**{("debater", e.id): e for e in entries.debaters}, **{("judge", e.id): e for e in entries.judges}}
    return PlanPart(
        changes=tuple(c.model_copy(update={"entry": known[c.role, c.entry.id]}) for c in changes),
        harness_version=plan.harness_version,
        git_commit=plan.git_commit,
    )


def _way_to_go_on(frozen: Plan, plan: Plan) -> str:
    """A hint for the message when a debater or judge was added to the configuration, or has other parameters."""
    hints = []
    for what, option, before, now in (
        ("debater", "--new-model", frozen.debaters, plan.debaters),
        ("judge", "--new-judge", frozen.judges, plan.judges),
    ):
        old = {member.id: member for member in before}
        if newcomers := [member.id for member in now if member.id not in old]:
            hints.append(f"`{option} {newcomers[0]}` adds a {what} to this run")
        changed = [member.id for member in now if member.id in old and member.parameters != old[member.id].parameters]
        if changed:
            hints.append(f"`--replace-parameters {changed[0]}` goes on with its new parameters")
    return "".join(f"; {hint}" for hint in dict.fromkeys(hints))


def _simulated_among(*members: MemberConfig) -> set[str]:
    """The names of those of their providers that are simulated."""
    return {member.provider for member in members if is_simulated(member.provider)}
