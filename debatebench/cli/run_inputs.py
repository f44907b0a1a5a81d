"""From the options of `debatebench run` to a plan: files, presets, selections, and the plan of a run that has begun."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from debatebench.config.load import load_config, load_debaters, load_judges, load_quick_test, load_topics
from debatebench.config.prompts import load_prompts
from debatebench.plan.frozen_plan import plan_of_today, read_begun_plan
from debatebench.plan.plan import PlanOptions
from debatebench.plan.schedule import make_plan
from debatebench.plan.selection import QUICK_TEST_JUDGES, quick_test_draw
from debatebench.providers import is_simulated
from debatebench.shared.errors import UsageError
from debatebench.shared.version import git_commit

if TYPE_CHECKING:
    from debatebench.config.types import Config, MemberConfig, TopicConfig
    from debatebench.plan.plan import Plan, PlanPart
    from debatebench.shared.workspace import Workspace

__all__ = ["InputPaths", "Inputs", "load_inputs", "planned"]

_QUICK_TEST_FILE = "quick-test-models.yaml"
_SELECTIONS = ("selected_topics", "selected_debaters", "selected_judges", "debater_prompt", "judge_prompt")


@dataclass(frozen=True, slots=True)
class InputPaths:
    """Paths of the configuration files; None means the workspace's own file, else the packaged one."""

    config: Path | None = None
    topics: Path | None = None
    models: Path | None = None
    judges: Path | None = None


@dataclass(frozen=True, slots=True)
class Inputs:
    """The parts of the configuration that a run can use."""

    config: Config
    topics: tuple[TopicConfig, ...]
    debaters: tuple[MemberConfig, ...]
    judges: tuple[MemberConfig, ...]
    from_catalogue: tuple[str, ...] = ()
    """Ids of debaters and judges that were picked from a provider's catalogue and are not in any file."""


def load_inputs(workspace: Workspace, paths: InputPaths, *, is_quick_test: bool = False) -> Inputs:
    """Read the configuration. A quick test reads debaters and judges from its own file if the workspace has one."""
    config = load_config(paths.config or workspace.config_file("config.yaml"))
    topics = load_topics(paths.topics or workspace.config_file("topics.json"))
    quick = workspace.configs / _QUICK_TEST_FILE
    if is_quick_test and os.path.lexists(quick) and paths.models is None and paths.judges is None:
        debaters, judges, panel_size = load_quick_test(quick)
        panel_size = panel_size or min(config.judges_per_debate, QUICK_TEST_JUDGES)
        return Inputs(_with_panel(config, panel_size), topics, debaters, judges)
    debaters = load_debaters(paths.models or workspace.config_file("models.yaml"))
    judges = load_judges(paths.judges or workspace.config_file("judges.yaml"))
    if is_quick_test:
        config = _with_panel(config, max(1, min(config.judges_per_debate, QUICK_TEST_JUDGES, len(judges))))
    return Inputs(config, topics, debaters, judges)


def _with_panel(config: Config, size: int) -> Config:
    return config.model_copy(update={"judges_per_debate": size})


def planned(
    workspace: Workspace, run_tag: str, inputs: Inputs, options: PlanOptions, new_models: Sequence[str]
) -> tuple[Plan, PlanPart | None]:
    """The plan of a run, begun or not, and what is to be added to it.

    A run that has begun keeps what was selected for it when nothing is selected now, and the debaters and judges that
    were picked from a provider's catalogue.
    """
    begun = read_begun_plan(workspace.journal / f"{run_tag}.jsonl")
    if begun is not None:
        inputs, options = _as_begun(begun, inputs, options)
    if options.preset == "quick-test":
        options = _quick_test(inputs, options)
    if options.preset == "prod-run":
        _refuse_simulated(inputs, options)
    judges = inputs.judges
    if options.judge_prompt is not None:
        judges = tuple(judge.model_copy(update={"prompt_style": options.judge_prompt}) for judge in judges)
    commit = git_commit()

    def make_base(debaters: Sequence[MemberConfig]) -> Plan:
        if options.judges_from_selection and options.judge_prompt is not None:
            debaters = [debater.model_copy(update={"prompt_style": options.judge_prompt}) for debater in debaters]
        pool = debaters if options.judges_from_selection else judges
        prompts = load_prompts(workspace, inputs.config, pool, options.debater_prompt)
        return make_plan(run_tag, inputs.config, inputs.topics, debaters, judges, prompts, options, commit)

    return plan_of_today(run_tag, begun, inputs.debaters, new_models, make_base, commit)


def _as_begun(begun: Plan, inputs: Inputs, options: PlanOptions) -> tuple[Inputs, PlanOptions]:
    """Inputs and options, completed with settings of the begun run that are not in any file."""
    known = begun.options
    if all(getattr(options, name) is None for name in _SELECTIONS) and options.preset is None:
        options = options.model_copy(update={name: getattr(known, name) for name in _SELECTIONS})
    picked = set(known.catalogue_members)
    if not picked:
        return inputs, options
    return (
        replace(
            inputs,
            debaters=(*inputs.debaters, *_missing_from(inputs.debaters, begun.debaters, picked)),
            judges=(*inputs.judges, *_missing_from(inputs.judges, begun.judges, picked)),
        ),
        options.model_copy(update={"catalogue_members": known.catalogue_members}),
    )


def _missing_from(
    files: Sequence[MemberConfig], begun: Sequence[MemberConfig], picked: set[str]
) -> tuple[MemberConfig, ...]:
    """Members of the begun plan that were picked from a catalogue and have not been added to a file since."""
    known = {member.id for member in files}
    return tuple(member for member in begun if member.id in picked and member.id not in known)


def _quick_test(inputs: Inputs, options: PlanOptions) -> PlanOptions:
    """One topic and two debaters, drawn by the seed."""
    among = options.selected_debaters
    debaters = [debater.id for debater in inputs.debaters if among is None or debater.id in among]
    drawn = quick_test_draw(debaters, options.seed)
    return options.model_copy(update={"selected_debaters": drawn, "sample_topics": 1, "allow_judge_overlap": True})


def _refuse_simulated(inputs: Inputs, options: PlanOptions) -> None:
    """Raise `UsageError` if a run for the record has simulated debaters or judges."""
    asked = inputs.debaters if options.judges_from_selection else (*inputs.debaters, *inputs.judges)
    simulated = [member.id for member in asked if is_simulated(member.provider)]
    if simulated:
        raise UsageError(
            f"--prod-run needs real debaters and judges, and '{simulated[0]}' is simulated: remove it from the "
            "configuration, or leave --prod-run out (its settings are the defaults)."
        )
