"""From the options of `debatebench run` to a plan: files, presets, selections, and the plan of a run that has begun."""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from debatebench.config.load import load_config, load_debaters, load_judges, load_quick_test, load_topics
from debatebench.config.parts import load_format, load_rubric, load_weaknesses, part_names, part_path
from debatebench.config.types import Config, MemberConfig, TopicConfig
from debatebench.journal.shards import check_not_in_shards, run_tags_in
from debatebench.judges import load_prompts, version_of_method
from debatebench.landing.run_marks import check_not_archived
from debatebench.plan.frozen_plan import plan_of_today, read_begun_plan
from debatebench.plan.plan import Plan, PlanOptions, PlanPart
from debatebench.plan.schedule import make_plan
from debatebench.plan.selection import QUICK_TEST_DEBATERS, QUICK_TEST_JUDGES, quick_test_draw
from debatebench.providers import is_simulated
from debatebench.shared.amounts import known_names
from debatebench.shared.errors import UsageError
from debatebench.shared.records import TEAMS
from debatebench.shared.version import git_commit
from debatebench.shared.workspace import Workspace, check_run_tag

_QUICK_TEST_FILE = "quick-test-models.yaml"


@dataclass(frozen=True, slots=True)
class Inputs:
    """The parts of the configuration that a run can use."""

    config: Config
    topics: tuple[TopicConfig, ...]
    debaters: tuple[MemberConfig, ...]
    judges: tuple[MemberConfig, ...]
    from_catalogue: tuple[str, ...] = ()
    """Ids of debaters and judges that were picked from a provider's catalogue and are not in any file."""


def begun_under(workspace: Workspace, run_tag: str, option: str) -> Plan | None:
    """The plan of the run that has begun under the tag that `option` gives; None if none has.

    Raises `UsageError` for a tag that no run can have.
    """
    check_run_tag(run_tag)
    if (workspace.imports / run_tag).exists():
        raise UsageError(f"Run tag '{run_tag}' is already the tag of an import; choose another {option}.")
    check_not_in_shards(workspace.journal, run_tag)
    return read_begun_plan(workspace.journal / f"{run_tag}.jsonl")


def unknown_run(workspace: Workspace, run_tag: str) -> UsageError:
    """The error for a tag under which no run has begun; it is raised if the run is archived."""
    check_not_archived(workspace, run_tag)
    known = known_names(run_tag, run_tags_in(workspace.journal), "none yet")
    return UsageError(f"No run '{run_tag}' has begun in {workspace.warehouse}.{known}")


def with_begun_options(begun: Plan | None, options: PlanOptions, given: Collection[str]) -> PlanOptions:
    """The options of a run. For a run that has begun, an option that is not `given` is the one that began it.

    A preset that is given sets several options itself, so these are not taken from the run.
    """
    if begun is None:
        return options
    kept = set(PlanOptions.model_fields) - set(given)
    if "preset" in given:
        kept -= {"sample_topics", "selected_topics", "selected_debaters", "allow_judge_overlap"}
    return options.model_copy(update={name: getattr(begun.options, name) for name in kept})


def load_inputs(workspace: Workspace, options: PlanOptions, begun: Plan | None = None) -> Inputs:
    """Read the configuration from the files that `options` name, else from the workspace's own or the packaged ones.

    A quick test reads debaters and judges from a file of its own if the workspace has one.
    """
    is_quick_test = options.preset == "quick-test"
    config = load_config(config_path(workspace, options.config_path, "config.yaml"))
    config = _with_parts(workspace, config, options, begun)
    topics = _topics(workspace, options)
    quick = workspace.configs / _QUICK_TEST_FILE
    if is_quick_test and os.path.lexists(quick) and options.models_path is None and options.judges_path is None:
        debaters, judges, panel_size = load_quick_test(workspace.config_file(_QUICK_TEST_FILE))
        panel_size = panel_size or min(config.judges_per_debate, QUICK_TEST_JUDGES)
        return Inputs(_with_panel(config, panel_size), topics, debaters, judges)
    debaters = load_debaters(config_path(workspace, options.models_path, "models.yaml"))
    judges = load_judges(config_path(workspace, options.judges_path, "judges.yaml"))
    if is_quick_test:
        config = _with_panel(config, max(1, min(config.judges_per_debate, QUICK_TEST_JUDGES, len(judges))))
    return Inputs(config, topics, debaters, judges)


def _topics(workspace: Workspace, options: PlanOptions) -> tuple[TopicConfig, ...]:
    """The topics of the file, or the one that `--resolution` gives, with an id that only its motion can have."""
    if options.resolution is None:
        return load_topics(config_path(workspace, options.topics_path, "topics.json"))
    motion = " ".join(options.resolution.split())
    words = "-".join(re.findall(r"[a-z0-9]+", motion.lower()))[:40].strip("-")
    topic_id = f"{words or 'motion'}-{hashlib.sha256(motion.encode()).hexdigest()[:8]}"
    if not motion or len(options.categories or ()) > 1:
        raise UsageError("--resolution takes the text of one motion, and with it --category at most once.")
    return (TopicConfig(id=topic_id, motion=motion, category=next(iter(options.categories or ()), None)),)


def config_path(workspace: Workspace, given: str | None, name: str) -> Path:
    """The file that an option gives, else the workspace's or the packaged one of that name.

    Where `configs/NAME` is given and there is no such file, it is the workspace's or the packaged one, too.
    """
    if given is None:
        return workspace.config_file(name)
    path = Path(given)
    if len(path.parts) > 1 and path.parts[0] == "configs" and not os.path.lexists(path):
        layered = workspace.config_file(str(Path(*path.parts[1:])))
        return layered if layered.is_file() else path
    return workspace.guarded(path)


def with_rubric(workspace: Workspace, config: Config, name: str | None, begun: Plan | None = None) -> Config:
    """The configuration with the dimensions of a rubric in configs/rubrics/, if one is named.

    A run that has begun with a rubric whose file is gone keeps it.
    """
    if name is None:
        return config
    if begun is not None and _lost_rubric(workspace, name, begun):
        kept = ("dimensions", "whole", "rubric_version")
        return config.model_copy(update={each: getattr(begun.config, each) for each in kept})
    rubric = load_rubric(part_path(workspace, "rubrics", name))
    update = {"dimensions": rubric.dimensions, "whole": rubric.whole, "rubric_version": rubric.version}
    return config.model_copy(update=update)


def rubric_method(workspace: Workspace, name: str | None, begun: Plan | None = None) -> str | None:
    """The judge method that a rubric in configs/rubrics/ names, if it names one.

    For a run that has begun with a rubric whose file is gone, it is that of its first judge.
    """
    if name is None:
        return None
    if begun is not None and _lost_rubric(workspace, name, begun):
        return next((judge.method for judge in begun.judges), None)
    return load_rubric(part_path(workspace, "rubrics", name)).judge_method


def _lost_rubric(workspace: Workspace, name: str, begun: Plan) -> bool:
    """Whether a run has begun with this rubric, and the file is gone."""
    return begun.options.rubric == name and name not in part_names(workspace, "rubrics")


def _with_parts(workspace: Workspace, config: Config, options: PlanOptions, begun: Plan | None) -> Config:
    """The configuration with the debate format, the rubric and the weaknesses that the options name."""
    config = with_rubric(workspace, config, options.rubric, begun)
    update: dict[str, object] = {}
    if options.debate_format is not None:
        update["rounds"] = load_format(part_path(workspace, "formats", options.debate_format))
    if options.weaknesses_path is not None:
        taxonomy = load_weaknesses(config_path(workspace, options.weaknesses_path, "weaknesses.yaml"))
        update["weakness_taxonomy"] = taxonomy.name
        update["weaknesses"] = taxonomy.only(options.weakness_types or tuple(taxonomy.dimensions())).weaknesses
    return config.model_copy(update=update)


def _with_panel(config: Config, size: int) -> Config:
    return config.model_copy(update={"judges_per_debate": size})


def planned(
    workspace: Workspace,
    run_tag: str,
    begun: Plan | None,
    inputs: Inputs,
    options: PlanOptions,
    new_models: Sequence[str],
    new_judges: Sequence[str] = (),
) -> tuple[Plan, PlanPart | None]:
    """The plan of a run, begun or not, and what is to be added to it.

    A run that has begun keeps the debaters and judges that were picked from a provider's catalogue.
    """
    if begun is not None:
        inputs = _with_picked(begun, inputs)
    if options.preset == "quick-test":
        options = _quick_test(inputs, options)
    if options.preset == "prod-run":
        _refuse_simulated(inputs, options)
    inputs = _as_limited(inputs, options)
    of_rubric = rubric_method(workspace, options.rubric, begun)
    judges = as_asked(inputs.judges, options, begun, of_rubric)
    commit = git_commit()

    def make_base(debaters: Sequence[MemberConfig], judges: Sequence[MemberConfig]) -> Plan:
        if options.judges_from_selection:
            debaters = as_asked(debaters, options, begun, of_rubric)
        pool = debaters if options.judges_from_selection else judges
        kept = None if begun is None else begun.prompts
        prompts = load_prompts(workspace, inputs.config, pool, options.debater_prompt, kept)
        return make_plan(run_tag, inputs.config, inputs.topics, debaters, judges, prompts, options, commit)

    return plan_of_today(run_tag, begun, inputs.debaters, judges, new_models, new_judges, make_base, commit)


def as_asked(
    judges: Sequence[MemberConfig],
    options: PlanOptions,
    begun: Plan | None = None,
    of_rubric: str | None = None,
) -> tuple[MemberConfig, ...]:
    """The judges with the prompt style and the method that the options give to all of them, or else the rubric.

    A method is the latest version of its name, unless the judge has another one in the run that has begun.
    """
    held = {} if begun is None else {judge.id: judge.method for judge in begun.judges}
    style = {} if options.judge_prompt is None else {"prompt_style": options.judge_prompt}

    def asked(judge: MemberConfig) -> MemberConfig:
        # A rubric that names a method now may have named none when the run began.
        by_rubric = of_rubric and held.get(judge.id, of_rubric)
        method = version_of_method(options.judge_method or by_rubric or judge.method, held.get(judge.id))
        return judge.model_copy(update={**style, "method": method})

    return tuple(map(asked, judges))


def _as_limited(inputs: Inputs, options: PlanOptions) -> Inputs:
    """The inputs with the temperature and the token limits that the options give for this run."""
    config, update = inputs.config, dict[str, object]()
    debaters, judges = inputs.debaters, inputs.judges
    if options.temperature is not None:
        update["temperature"] = options.temperature
        # A null parameter stays: that model takes no temperature.
        debaters = tuple(map(_without_temperature, debaters))
    if (most := options.max_tokens) is not None:
        caps = [each.max_tokens if options.apply_stage_token_limits else None for each in config.rounds]
        update["rounds"] = tuple(
            each.model_copy(update={"max_tokens": most if cap is None else min(most, cap)})
            for each, cap in zip(config.rounds, caps, strict=True)
        )
    if options.judge_max_tokens is not None:
        judges = tuple(each.model_copy(update={"token_limit": options.judge_max_tokens}) for each in judges)
    return replace(inputs, config=config.model_copy(update=update), debaters=debaters, judges=judges)


def _without_temperature(debater: MemberConfig) -> MemberConfig:
    kept = {name: value for name, value in debater.parameters.items() if name != "temperature" or value is None}
    return debater.model_copy(update={"parameters": kept})


def _with_picked(begun: Plan, inputs: Inputs) -> Inputs:
    """The inputs with the members of the begun run that were picked from a catalogue, so that no file has them."""
    picked = set(begun.options.catalogue_members)
    return replace(
        inputs,
        debaters=(*inputs.debaters, *_missing_from(inputs.debaters, begun.debaters, picked)),
        judges=(*inputs.judges, *_missing_from(inputs.judges, begun.judges, picked)),
    )


def _missing_from(
    files: Sequence[MemberConfig], begun: Sequence[MemberConfig], picked: set[str]
) -> tuple[MemberConfig, ...]:
    """Members of the begun plan that were picked from a catalogue and have not been added to a file since."""
    known = {member.id for member in files}
    return tuple(member for member in begun if member.id in picked and member.id not in known)


def _quick_test(inputs: Inputs, options: PlanOptions) -> PlanOptions:
    """One topic and two debaters (of four teams, four), drawn by the seed."""
    among = options.selected_debaters
    debaters = [debater.id for debater in inputs.debaters if among is None or debater.id in among]
    count = len(TEAMS) if inputs.config.is_of_teams else QUICK_TEST_DEBATERS
    drawn = quick_test_draw(debaters, options.seed, count)
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
