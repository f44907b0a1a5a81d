"""What is left of a run and what it costs: printed by a dry run, and shown before a run that may cost money."""

from __future__ import annotations

import json
import os
import sys
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING

from debatebench.cli.common import Format, ask, note, now, print_rows, say, warn, why_unread
from debatebench.cli.run_report import is_all_simulated
from debatebench.shared.amounts import counted
from debatebench.shared.errors import DebatebenchError

if TYPE_CHECKING:
    from pathlib import Path

    from debatebench.plan.cost_estimate import CostEstimate
    from debatebench.plan.plan import Plan, PlanPart
    from debatebench.plan.stored_use import StoredUse
    from debatebench.play.before_run import CheckedRun
    from debatebench.play.runner import RunSettings
    from debatebench.shared.workspace import Workspace

_SPEECHES = """
with speeches as (
    select t.*, d.provider, d.model_name, coalesce(t.stage, '') as stage_name, length(t.content) as characters,
        coalesce(sum(length(t.content)) over (
            partition by t.run_tag, t.debate_id order by t.turn_index rows between unbounded preceding and 1 preceding
        ), 0) as history
    from staging.stg_turns as t
    left join staging.stg_debaters as d on d.run_tag = t.run_tag and d.model_id = t.model_id
    where t.run_tag <> $run_tag
)

select provider, model_name, stage_name, count(*), sum(prompt_tokens)::bigint, sum(completion_tokens)::bigint,
    sum(characters)::bigint, sum(history)::bigint, count(*)
from speeches
where provider is not null and model_name is not null and prompt_tokens > 0 and completion_tokens > 0
group by all
"""
_VERDICTS = """
with lengths as (
    select run_tag, debate_id, sum(length(content)) as history
    from staging.stg_turns
    group by all
),

-- The answers that led to a verdict, where the tokens of each are known.
verdicts as (
    select run_tag, debate_id, judge_id, sum(prompt_tokens) as prompt_tokens,
        sum(completion_tokens) as completion_tokens, count(*) as count_asks
    from intermediate.int_expenses
    where purpose = 'verdict' and judge_id is not null
    group by all
    having count(prompt_tokens) = count(*) and count(completion_tokens) = count(*)
)

select j.provider, j.model_name, j.method, count(*), sum(v.prompt_tokens)::bigint, sum(v.completion_tokens)::bigint,
    0, sum(l.history)::bigint, sum(v.count_asks)::bigint
from verdicts as v
join staging.stg_debates as d on d.run_tag = v.run_tag and d.debate_id = v.debate_id
join staging.stg_runs as r on r.run_tag = v.run_tag
-- A stored debate that was judged again has its speeches where it was played.
join lengths as l
    on l.run_tag = case when d.source_debate_id is null then v.run_tag else r.source_run_tag end
    and l.debate_id = coalesce(d.source_debate_id, v.debate_id)
join staging.stg_judges as j on j.run_tag = v.run_tag and j.judge_id = v.judge_id
where v.run_tag <> $run_tag and j.provider is not null and j.model_name is not null and v.prompt_tokens > 0
    and v.completion_tokens > 0
group by all
"""


@dataclass(frozen=True, slots=True)
class ExpectedRun:
    """A run that can begin or go on, and the expected cost of what is left of it."""

    checked: CheckedRun
    expected: CostEstimate

    @property
    def plan(self) -> Plan:
        """The plan of only the debates that are left."""
        from debatebench.plan.hearings import Hearings

        plan, hearings = self.checked.plan, Hearings(self.checked.plan)
        left = [debate for debate in plan.debates if hearings.is_left(debate, self.checked.left(debate))]
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
    from debatebench.plan.cost_estimate import estimate
    from debatebench.play.before_run import check_run
    from debatebench.warehouse.sources import check_before_run

    check_before_run(workspace, plan.run_tag, is_built=is_built)
    checked = check_run(
        plan,
        part,
        workspace.journal / f"{plan.run_tag}.jsonl",
        concurrency=settings.concurrency,
        max_cost=settings.max_cost,
        retry_failed=settings.retry_failed,
        replaceable=settings.replaceable,
        environ=os.environ,
        warn=warn,
        now=now(),
    )
    stored = with_stored_use(workspace, plan.run_tag, checked.remaining.stored)
    return ExpectedRun(checked, estimate(checked.plan, stored, checked.left))


def with_stored_use(workspace: Workspace, run_tag: str, stored: StoredUse) -> StoredUse:
    """`stored` with the use of models in all runs of the warehouse except this one, whose own journal says more."""
    from debatebench.plan.stored_use import Sums
    from debatebench.query.relations import read_relations
    from debatebench.query.safe_query import open_for_reading, run_query

    if not workspace.database.is_file():
        return stored
    try:
        with open_for_reading(workspace.database) as con:
            if "staging.stg_turns" not in read_relations(con):
                return stored
            for found, sql in ((stored.speeches, _SPEECHES), (stored.verdicts, _VERDICTS)):
                for provider, model, part, *sums in run_query(con, sql, {"run_tag": run_tag}, limit=None).rows:
                    found.setdefault((provider, model, part), Sums()).add(Sums(*sums))
    except DebatebenchError as problem:
        note(f"Stored tokens cannot be read, so the cost is estimated without them: {why_unread(workspace, problem)}")
    return stored


def print_plan(workspace: Workspace, run: ExpectedRun, output: Format) -> None:
    """Print what a run would do and cost; for a run that has begun, what is left of it."""
    checked = run.checked
    columns, rows = run.expected.table()
    print_rows(columns, rows, output)
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
    else:
        note(f"No requests were sent. The plan is in {_write_plan(workspace.plans, checked.plan)}.")


def _note_weaknesses(plan: Plan) -> None:
    """Say how often each weakness is injected into which side, and how many debates have none."""
    from debatebench.plan.weaknesses import weakness_counts

    if not plan.config.weaknesses:
        return
    controls = sum(debate.weakness_type is None for debate in plan.debates)
    note(
        f"Weaknesses: {counted(len(plan.debates) - controls, 'debate')}, and "
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
    from debatebench.shared.files import write_atomically

    content = (json.dumps(plan.to_json(), sort_keys=True, indent=1, ensure_ascii=False) + "\n").encode()
    path, number = folder / f"{plan.run_tag}.json", 1
    while os.path.lexists(path):
        if path.is_file() and path.read_bytes() == content:
            return path
        number += 1
        path = folder / f"{plan.run_tag}-{number}.json"
    write_atomically(path, content)
    return path


def is_asked() -> bool:
    """Whether a person can be asked: standard input and standard error are a terminal."""
    return sys.stdin.isatty() and sys.stderr.isatty()


def confirm(run: ExpectedRun) -> None:
    """Show what is left to play and its cost, and ask whether to play it. Raises `DebatebenchError` for no."""
    if not run.may_cost:
        return
    checked, expected = run.checked, run.expected
    what = "Left of run" if checked.has_begun else "New run"
    note(f"{what} '{checked.plan.run_tag}': {expected.debates:,} debates, {expected.calls:,} calls.")
    note(expected.costs())
    if ask("Play it? [y/N] ").strip().lower() not in ("y", "yes"):
        raise DebatebenchError("Nothing was sent, because the answer was not y; --yes plays without asking.")
