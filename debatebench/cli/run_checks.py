"""What `debatebench run` can do before a run: ask every hosted model once, try the judges, estimate the time."""

from __future__ import annotations

import os
from collections.abc import Collection, Sequence
from dataclasses import replace
from decimal import Decimal
from typing import TYPE_CHECKING

from debatebench.cli.common import Format, note, print_records, print_rows, why_unread
from debatebench.shared.amounts import amount_text, counted
from debatebench.shared.errors import DebatebenchError, UsageError
from debatebench.shared.visible_text import plain_name

if TYPE_CHECKING:
    from debatebench.cli.run_inputs import Inputs
    from debatebench.config.types import MemberConfig
    from debatebench.plan.plan import Plan, PlanOptions
    from debatebench.plan.time_estimate import Latencies
    from debatebench.shared.workspace import Workspace

_TURN_LATENCIES = """
select d.provider, d.model_name, median(t.duration_ms)
from staging.stg_turns as t
join staging.stg_debaters as d on d.run_tag = t.run_tag and d.model_id = t.model_id
where t.duration_ms is not null and d.provider is not null and d.model_name is not null
group by all
"""
_VERDICT_LATENCIES = """
select j.provider, j.model_name, median(v.duration_ms / v.count_asks)
from staging.stg_verdicts as v
join staging.stg_judges as j on j.run_tag = v.run_tag and j.judge_id = v.judge_id
where v.duration_ms is not null and v.count_asks > 0 and j.provider is not null and j.model_name is not null
group by all
"""


def chosen(inputs: Inputs, options: PlanOptions) -> Inputs:
    """The inputs with only the debaters and judges that `options` select. Raises `UsageError` for an unknown one.

    What a begun run has picked from a provider's catalogue is in no file, and is left out.
    """
    picked = options.catalogue_members
    debaters = _with_ids(inputs.debaters, options.selected_debaters, picked, "debater")
    judges = debaters
    if not options.judges_from_selection:
        judges = _with_ids(inputs.judges, options.selected_judges, picked, "judge")
    return replace(inputs, debaters=debaters, judges=judges)


def _with_ids(
    members: tuple[MemberConfig, ...], ids: Sequence[str] | None, picked: Collection[str], kind: str
) -> tuple[MemberConfig, ...]:
    known = [member.id for member in members]
    ids = None if ids is None else [plain_name(id_) for id_ in ids]
    for wanted in ids or ():
        if wanted not in known and wanted not in picked:
            raise UsageError(f"No {kind} '{wanted}'. Known: {', '.join(known) or 'none'}.")
    return members if ids is None else tuple(member for member in members if member.id in ids)


def probe_models(inputs: Inputs, output: Format) -> None:
    """Send every hosted debater and judge one tiny request. Raises `DebatebenchError` if one does not answer."""
    import uvloop

    from debatebench.play.probe import hosted, probe_members

    members = hosted([*inputs.debaters, *inputs.judges])
    if not members:
        raise UsageError("All of these debaters and judges are simulated, so there is nothing to probe.")
    probes = uvloop.run(probe_members(members, os.environ))
    columns = ["id", "provider", "model", "answers", "latency_ms", "cost_usd", "problem"]
    print_records(columns, probes, output)
    _note_cost([probe.cost_usd for probe in probes if probe.was_asked])
    silent = [probe.id for probe in probes if not probe.answers]
    if silent:
        raise DebatebenchError(f"{len(silent)} of {len(probes)} models did not answer: {', '.join(silent)}.")


def test_judges(workspace: Workspace, inputs: Inputs, options: PlanOptions, output: Format) -> None:
    """Have every judge judge a tiny fixed debate. Raises `DebatebenchError` if one does not return a verdict."""
    import uvloop

    from debatebench.cli.run_inputs import as_asked
    from debatebench.config.prompt_files import load_prompts
    from debatebench.judges import templates_of
    from debatebench.play.probe import check_judges

    if not inputs.judges:
        raise UsageError("No judges are configured; add some to judges.yaml.")
    judges = as_asked(inputs.judges, options)
    prompts = load_prompts(workspace, inputs.config, judges, templates_of=templates_of)
    checks = uvloop.run(check_judges(judges, inputs.config, prompts, os.environ))
    columns = ["judge_id", "is_valid", "is_repaired", "asks", "latency_ms", "cost_usd", "problem"]
    print_records(columns, checks, output)
    _note_cost([check.cost_usd for check in checks])
    invalid = [check.judge_id for check in checks if not check.is_valid]
    if invalid:
        raise DebatebenchError(
            f"{len(invalid)} of {len(checks)} judges returned no valid verdict: {', '.join(invalid)}."
        )


def print_time(workspace: Workspace, plan: Plan, concurrency: int) -> None:
    """Print an estimate of how long a plan takes, from the timings in the warehouse."""
    from debatebench.plan.time_estimate import estimate_time

    note(estimate_time(plan, stored_latencies(workspace), concurrency).summary())


def list_prompts(workspace: Workspace, output: Format) -> None:
    """Print the prompts of the library that a run can use."""
    from debatebench.config.prompt_files import prompt_library

    rows = [[p.role, p.style, p.opening, ", ".join(map(str, p.paths))] for p in prompt_library(workspace)]
    print_rows(["role", "style", "opening", "files"], rows, output)


def stored_latencies(workspace: Workspace) -> Latencies:
    """Median latencies by provider and model; none if there is no warehouse yet."""
    from debatebench.plan.time_estimate import Latencies
    from debatebench.query.safe_query import run_query

    if not workspace.database.is_file():
        return Latencies({}, {})
    try:
        turns, verdicts = (
            run_query(workspace.database, sql, limit=None).rows for sql in (_TURN_LATENCIES, _VERDICT_LATENCIES)
        )
    except DebatebenchError as problem:
        note(f"Stored timings cannot be read: {why_unread(workspace, problem)}")
        return Latencies({}, {})
    return Latencies({(p, m): ms for p, m, ms in turns}, {(p, m): ms for p, m, ms in verdicts})


def _note_cost(costs: Sequence[Decimal | None]) -> None:
    """Print what the requests cost; they are not recorded anywhere else."""
    known = sum((cost for cost in costs if cost is not None), Decimal(0))
    unknown = sum(cost is None for cost in costs)
    rest = f", and {unknown} of them at an unknown cost" if unknown else ""
    note(
        f"Sent requests to {counted(len(costs), 'model')} for {amount_text(known)} USD{rest}. They are not part of a "
        "run, and nothing was landed."
    )
