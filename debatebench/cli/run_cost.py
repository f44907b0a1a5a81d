"""What is left of a run and what it costs: printed by a dry run, and shown before a run that may cost money."""

from __future__ import annotations

import json
import os
import sys
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

from debatebench.cli.common import ask, note, now, print_records, say, warn
from debatebench.cli.run_report import is_all_simulated
from debatebench.cli.stored_answers import stored_latencies, with_stored_use
from debatebench.journal.shards import journal_at
from debatebench.plan.estimate import CostEstimate, estimate, estimate_time
from debatebench.plan.judge_calls import JudgeCalls
from debatebench.plan.plan import Plan, PlanPart
from debatebench.plan.weaknesses import weakness_counts
from debatebench.play.before_run import CheckedRun, RunSettings, check_run
from debatebench.shared.amounts import counted
from debatebench.shared.errors import DebatebenchError, UsageError
from debatebench.shared.files import write_atomically
from debatebench.shared.formats import Format
from debatebench.shared.workspace import Workspace
from debatebench.warehouse.sources import check_before_run


@dataclass(frozen=True, slots=True)
class ExpectedRun:
    """A run that can begin or go on, and the expected cost of what is left of it."""

    checked: CheckedRun
    expected: CostEstimate

    @property
    def plan(self) -> Plan:
        """The plan of only the debates that are left."""
        plan, judge_calls = self.checked.plan, JudgeCalls(self.checked.plan)
        left = [debate for debate in plan.debates if judge_calls.is_left(debate, self.checked.left(debate))]
        return plan.model_copy(update={"debates": tuple(left)})

    @property
    def may_cost(self) -> bool:
        """Whether a hosted debater or judge has calls left."""
        from debatebench.providers import is_simulated

        plan = self.checked.plan
        hosted = {("debater", m.id) for m in plan.debaters if not is_simulated(m.provider)}
        hosted |= {("judge", m.id) for m in plan.judges if not is_simulated(m.provider)}
        return any(member.calls and (member.role, member.id) in hosted for member in self.expected.members)


def expected_run(
    workspace: Workspace, plan: Plan, part: PlanPart | None, settings: RunSettings, *, is_built: bool = True
) -> ExpectedRun:
    """Check all that the run checks before its first request, with its errors, and estimate what is left."""
    shard = None if plan.shard is None else plan.shard.shard
    check_before_run(workspace, plan.run_tag, shard, is_built=is_built)
    journal = journal_at(workspace.journal, plan.run_tag, shard)
    checked = check_run(plan, part, journal, settings, environ=os.environ, warn=warn, now=now())
    stored = with_stored_use(workspace, plan.run_tag, checked.remaining.stored)
    return ExpectedRun(checked, estimate(checked.plan, stored, checked.left))


def print_plan(workspace: Workspace, run: ExpectedRun, output: Format, file: Path | None = None) -> None:
    """Print what a run would do and cost; for a run that has begun, what is left of it.

    The plan of a new run is written to `file`, which may hold it already. Without it, it is written for people to read.
    """
    from debatebench.plan.plan_file import write_plan

    checked = run.checked
    if checked.has_begun and file is not None and checked.plan.shard is None:
        raise UsageError(f"Run '{checked.plan.run_tag}' has begun, so its plan cannot be cut: plan under another tag.")
    columns = ["role", "id", "calls", "prompt_tokens", "completion_tokens", "cost_usd", "most_usd"]
    print_records(columns, run.expected.members, output)
    if output is Format.TABLE:
        say(run.expected.summary())
    _note_weaknesses(checked.plan)
    if (part := checked.ready.part) is not None and part.debaters:
        note(f"--new-model adds {counted(len(part.debates), 'debate')} to run '{checked.plan.run_tag}'.")
    if checked.has_begun:
        done = len(checked.resume.complete_debates)
        note(
            f"This run has begun: {counted(done, 'debate')} {'is' if done == 1 else 'are'} complete. Above is the rest."
        )
        is_simulated = is_all_simulated(checked.plan)
        note(f"Cost so far: {checked.resume.ledger.total.summary(is_simulated=is_simulated)}")
        for told, count in Counter(checked.advice()).items():
            needs = "it needs" if count == 1 else "they need"
            note(f"{counted(count, 'debate')} ended without an answer that {needs}; {told}.")
        note("No requests were sent. The plan is in the run's journal, so no file was written.")
    elif checked.plan.shard is not None:
        note("No requests were sent.")
    else:
        if file is None:
            file = _write_plan(workspace.plans, checked.plan)
        else:
            write_plan(file, checked.plan, run.expected)
        note(f"No requests were sent. The plan is in {file}.")


def _note_weaknesses(plan: Plan) -> None:
    """Say how often each weakness is injected into which side, and how many debates have none."""
    if not plan.config.weaknesses:
        return
    controls = sum(debate.weakness_type is None for debate in plan.debates)
    note(
        f"Weaknesses of the taxonomy {plan.config.weakness_taxonomy or 'debatebench'}: "
        f"{counted(len(plan.debates) - controls, 'debate')}, and "
        f"{counted(controls, 'control')} without one."
    )
    for name, pro, con in weakness_counts(plan.config, plan.debates):
        note(f"  {name}: {pro:,} on pro, {con:,} on con.")
    unscored = {each.dimension for each in plan.config.weaknesses} - set(plan.config.dimensions)
    if unscored:
        warn(
            f"no judge of this run scores {', '.join(sorted(unscored))}, where a weakness should cost points; a rubric "
            "such as --rubric debateflow has these dimensions."
        )


def _write_plan(folder: Path, plan: Plan) -> Path:
    """Write the plan to the first file of `TAG.json`, `TAG-2.json` and so on that is free or holds the same plan."""
    content = (json.dumps(plan.to_json(), sort_keys=True, indent=1, ensure_ascii=False) + "\n").encode()
    path, number = folder / f"{plan.run_tag}.json", 1
    while os.path.lexists(path):
        if path.is_file() and path.read_bytes() == content:
            return path
        number += 1
        path = folder / f"{plan.run_tag}-{number}.json"
    write_atomically(path, content)
    return path


def print_time(workspace: Workspace, plan: Plan, concurrency: int) -> None:
    """Print an estimate of how long a plan takes, from the timings in the warehouse."""
    usual, slow, slower = (
        estimate_time(plan, stored_latencies(workspace, share), concurrency) for share in (0.5, 0.75, 0.9)
    )
    note(usual.summary())
    if slow.most_s and slower.most_s:
        note(f"If each call is as slow as one in four was: {slow.range_text()}; as one in ten: {slower.range_text()}.")


def is_asked() -> bool:
    """Whether a person can be asked: standard input and standard error are a terminal."""
    return sys.stdin.isatty() and sys.stderr.isatty()


def confirm(run: ExpectedRun) -> None:
    """Show what is left to play and its cost, and ask whether to play it. Raises `DebatebenchError` for no."""
    if not run.may_cost:
        return
    checked, expected = run.checked, run.expected
    what = "Rest of run" if checked.has_begun else "New run"
    note(f"{what} '{checked.plan.run_tag}': {expected.debates:,} debates, {expected.calls:,} calls.")
    note(expected.costs())
    if ask("Play it? [y/N] ").strip().lower() not in ("y", "yes"):
        raise DebatebenchError("Nothing was sent, because the answer was not y; --yes plays without asking.")
