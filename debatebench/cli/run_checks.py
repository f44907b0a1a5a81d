"""What `debatebench run` can do before a run: ask every hosted model once, try the judges, list the prompts."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import replace
from decimal import Decimal
from typing import TYPE_CHECKING

from debatebench.cli.common import note, print_records, print_rows, warn
from debatebench.shared.amounts import amount_text, counted
from debatebench.shared.errors import DebatebenchError, UsageError
from debatebench.shared.formats import Format

if TYPE_CHECKING:
    from debatebench.cli.playing_plan import Inputs
    from debatebench.config.types import MemberConfig
    from debatebench.plan.plan import PlanOptions
    from debatebench.play.probe import Probe
    from debatebench.shared.workspace import Workspace


def chosen(inputs: Inputs, options: PlanOptions) -> Inputs:
    """The inputs with only the debaters and judges that `options` select. Raises `UsageError` for an unknown one.

    What a begun run has picked from a provider's catalogue is in no file, and is left out.
    """
    from debatebench.plan.schedule import selected

    picked = options.catalogue_members
    debaters = judges = selected(inputs.debaters, options.selected_debaters, "debater", in_no_file=picked)
    if not options.judges_from_selection:
        judges = selected(inputs.judges, options.selected_judges, "judge", in_no_file=picked)
    return replace(inputs, debaters=debaters, judges=judges)


def probe_models(inputs: Inputs, output: Format) -> None:
    """Send every hosted debater and judge one tiny request. Raises `DebatebenchError` if one does not answer."""
    members = _hosted_in(inputs)
    if not members:
        raise UsageError("All of these debaters and judges are simulated, so there is nothing to probe.")
    probes = _probed(members)
    columns = ["id", "provider", "model", "answers", "latency_ms", "cost_usd", "problem"]
    print_records(columns, probes, output)
    silent = [probe.id for probe in probes if not probe.answers]
    if silent:
        raise DebatebenchError(f"{len(silent)} of {len(probes)} models did not answer: {', '.join(silent)}.")


def without_silent(inputs: Inputs, options: PlanOptions) -> PlanOptions:
    """The options with only the debaters and judges that are simulated or answer one tiny request.

    Who is left out is said with the reason. Raises `UsageError` if no debate or no panel could be made of the rest.
    """
    from debatebench.providers import provider_key
    from debatebench.shared.records import TEAMS

    picked = chosen(inputs, options)
    members = _hosted_in(picked)
    probes = _probed(members) if members else []
    problems = {(probe.id, probe.provider, probe.model): probe.problem for probe in probes if not probe.answers}
    silent = {
        (provider_key(each), each.model): problem
        for each in members
        if (problem := problems.get((each.id, each.provider, each.model))) is not None
    }

    def answering(members: Sequence[MemberConfig], what: str, fewest: int) -> tuple[str, ...]:
        kept = []
        for each in members:
            if (problem := silent.get((provider_key(each), each.model))) is None:
                kept.append(each.id)
            else:
                warn(f"{what} '{each.id}' is left out: {problem}")
        if len(kept) < fewest:
            raise UsageError(f"Only {counted(len(kept), what)} would be left, and the run needs {fewest}.")
        return tuple(kept)

    debaters = answering(picked.debaters, "debater", len(TEAMS) if inputs.config.is_of_teams else 2)
    if not silent:
        return options
    update = {"selected_debaters": debaters}
    if not options.judges_from_selection:
        update["selected_judges"] = answering(picked.judges, "judge", inputs.config.judges_per_debate)
    return options.model_copy(update=update)


def _hosted_in(inputs: Inputs) -> list[MemberConfig]:
    from debatebench.play.probe import hosted

    return hosted([*inputs.debaters, *inputs.judges])


def _probed(members: Sequence[MemberConfig]) -> list[Probe]:
    """Each of these models asked once; what that cost is said."""
    import uvloop

    from debatebench.play.probe import probe_members

    probes = uvloop.run(probe_members(members, os.environ))
    _note_cost([probe.cost_usd for probe in probes if probe.was_asked])
    return probes


def test_judges(workspace: Workspace, inputs: Inputs, options: PlanOptions, output: Format) -> None:
    """Have every judge judge a tiny fixed debate. Raises `DebatebenchError` if one does not return a verdict."""
    import uvloop

    from debatebench.cli.playing_plan import as_asked, rubric_method
    from debatebench.judges import load_prompts
    from debatebench.play.probe import check_judges

    if not inputs.judges:
        raise UsageError("No judges are configured; add some to judges.yaml.")
    judges = as_asked(inputs.judges, options, of_rubric=rubric_method(workspace, options.rubric))
    prompts = load_prompts(workspace, inputs.config, judges)
    checks = uvloop.run(check_judges(judges, inputs.config, prompts, os.environ))
    columns = ["judge_id", "is_valid", "is_repaired", "asks", "latency_ms", "cost_usd", "problem"]
    print_records(columns, checks, output)
    _note_cost([check.cost_usd for check in checks])
    invalid = [check.judge_id for check in checks if not check.is_valid]
    if invalid:
        raise DebatebenchError(
            f"{len(invalid)} of {len(checks)} judges returned no valid verdict: {', '.join(invalid)}."
        )


def list_prompts(workspace: Workspace, output: Format) -> None:
    """Print the prompts of the library that a run can use, and the sets for judge methods."""
    from debatebench.config.prompt_files import prompt_library, style_folders

    rows = [[p.role, p.style, p.opening, ", ".join(map(str, p.paths))] for p in prompt_library(workspace)]
    rows += [
        ["judge", style, f"a set for the methods with prompts in {folder.parent.name}/", str(folder)]
        for style, folder in style_folders(workspace)
    ]
    print_rows(["role", "style", "opening", "files"], rows, output)


def _note_cost(costs: Sequence[Decimal | None]) -> None:
    """Print what the requests cost; they are not recorded anywhere else."""
    known = sum((cost for cost in costs if cost is not None), Decimal(0))
    unknown = sum(cost is None for cost in costs)
    rest = f", and {unknown} of them at an unknown cost" if unknown else ""
    note(
        f"Sent requests to {counted(len(costs), 'model')} for {amount_text(known)} USD{rest}. They are not part of a "
        "run, and nothing was landed."
    )
