"""`debatebench run`."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from debatebench.cli import run_checks as checking
from debatebench.cli import run_parameters as parameters
from debatebench.cli.common import Format, FormatOption, note, now, workspace_of
from debatebench.cli.completion import run_tags
from debatebench.cli.run_options import asked_for, refuse_contradictions
from debatebench.cli.run_session import RunSession
from debatebench.shared.errors import UsageError

if TYPE_CHECKING:
    from debatebench.plan.plan import PlanOptions
    from debatebench.shared.workspace import Workspace

# Options of the command that have another name in a plan.
_FIELDS = {
    "topic": "selected_topics",
    "debater": "selected_debaters",
    "judge": "selected_judges",
    "quick_test": "preset",
    "prod_run": "preset",
    "weaknesses": "weaknesses_path",
}
EXAMPLES = """\b
Examples:
  debatebench run --run-tag first --sample-topics 5 --dry-run   what it would do and cost
  debatebench run --run-tag first --sample-topics 5             play it
  debatebench run --run-tag first                               go on where it stopped
  debatebench retry first                                       ask again what failed
"""


def run(
    context: typer.Context,
    run_tag: parameters.RunTag = None,
    topic: parameters.Topic = None,
    sample_topics: parameters.SampleTopics = None,
    debater: parameters.Debater = None,
    judge: parameters.Judge = None,
    quick_test: parameters.QuickTest = False,
    prod_run: parameters.ProdRun = False,
    no_input: parameters.NoInput = False,
    debates_per_pair: parameters.DebatesPerPair = 1,
    balanced_sides: parameters.BalancedSides = True,
    swap_sides: parameters.SwapSides = False,
    balanced_judges: parameters.BalancedJudges = True,
    judges_from_selection: parameters.JudgesFromSelection = False,
    allow_judge_overlap: parameters.AllowJudgeOverlap = False,
    swap_order: parameters.SwapOrder = False,
    seed: parameters.Seed = 12345,
    config_path: parameters.ConfigPath = None,
    topics_path: parameters.TopicsPath = None,
    models_path: parameters.ModelsPath = None,
    judges_path: parameters.JudgesPath = None,
    debate_format: parameters.DebateFormat = None,
    rubric: parameters.Rubric = None,
    weaknesses: parameters.Weaknesses = None,
    control_ratio: parameters.ControlRatio = None,
    debater_prompt: parameters.DebaterPrompt = None,
    judge_prompt: parameters.JudgePrompt = None,
    judge_method: parameters.JudgeMethod = None,
    list_prompts: parameters.ListPrompts = False,
    resume: parameters.Resume = False,
    retry_failed: parameters.RetryFailed = False,
    new_model: parameters.NewModel = None,
    new_judge: parameters.NewJudge = None,
    replace_parameters: parameters.ReplaceParameters = None,
    concurrency: parameters.Concurrency = 32,
    max_cost: parameters.MaxCost = None,
    yes: parameters.Yes = False,
    max_ambiguous_retries: parameters.MaxAmbiguousRetries = 3,
    wait_for_limit: parameters.WaitForLimit = 600.0,
    wait_for_provider: parameters.WaitForProvider = 600.0,
    max_failures_in_a_row: parameters.MaxFailuresInARow = 5,
    skip_on_empty: parameters.SkipOnEmpty = False,
    empty_debates: parameters.EmptyDebates = None,
    dry_run: parameters.DryRun = False,
    estimate_time: parameters.EstimateTime = False,
    judges_test: parameters.JudgesTest = False,
    probe: parameters.Probe = False,
    no_build: parameters.NoBuild = False,
    log_failed_judges: parameters.LogFailedJudges = False,
    output: parameters.Print = Format.TABLE,
) -> None:
    """Play a tournament, land it and build the SQL models."""
    from debatebench.cli.run_inputs import load_inputs, planned, unknown_run, with_begun_options
    from debatebench.plan.frozen_plan import read_begun_plan
    from debatebench.plan.plan import PlanOptions
    from debatebench.plan.weaknesses import CONTROL_RATIO
    from debatebench.shared.workspace import check_run_tag

    workspace = workspace_of(context)
    if debate_format in [each.value for each in Format]:
        raise UsageError(f"--format names a debate format; `--print {debate_format}` prints the result like that.")
    refuse_contradictions(
        {
            "--prod-run": prod_run,
            "--quick-test": quick_test,
            "--sample-topics": sample_topics is not None,
            "--topic": bool(topic),
            "--debater": bool(debater),
            "--judge": bool(judge),
            "--no-balanced-sides": not balanced_sides,
            "--swap-sides": swap_sides,
            "--judges-from-selection": judges_from_selection,
            "--judges-test": judges_test,
            "--probe": probe,
            "--list-prompts": list_prompts,
            "--new-model": bool(new_model),
            "--new-judge": bool(new_judge),
            "--retry-failed": retry_failed,
            "--dry-run": dry_run,
            "--estimate-time": estimate_time,
        }
    )
    if empty_debates is not None and not skip_on_empty:
        raise UsageError("--empty-debates has no effect without --skip-on-empty; give both.")
    if list_prompts:
        checking.list_prompts(workspace, output)
        return
    run_tag = now().strftime("run-%Y%m%d-%H%M%S") if run_tag is None else run_tag
    check_run_tag(run_tag)
    if (workspace.imports / run_tag).exists():
        raise UsageError(f"Run tag '{run_tag}' is already the tag of an import; choose another --run-tag.")
    begun = read_begun_plan(workspace.journal / f"{run_tag}.jsonl")
    if begun is not None and begun.source is not None:
        source = begun.source.run_tag
        command = f"probe-judges --run-tag {source}" if begun.attacks else f"judge {source}"
        raise UsageError(
            f"Run '{run_tag}' judges the stored debates of '{source}': go on with it by "
            f"`debatebench {command} --as {run_tag}`."
        )
    if begun is None and (resume or retry_failed or new_model or new_judge or replace_parameters):
        raise unknown_run(workspace, run_tag)
    options = PlanOptions(
        seed=seed,
        sample_topics=sample_topics,
        debates_per_pair=debates_per_pair,
        balanced_sides=balanced_sides,
        swap_sides=swap_sides,
        balanced_judges=balanced_judges,
        judges_from_selection=judges_from_selection,
        allow_judge_overlap=allow_judge_overlap,
        swap_order=swap_order,
        preset="quick-test" if quick_test else "prod-run" if prod_run else None,
        selected_topics=_ids(topic),
        selected_debaters=_ids(debater),
        selected_judges=_ids(judge),
        debater_prompt=debater_prompt,
        judge_prompt=judge_prompt,
        judge_method=judge_method,
        config_path=_text(config_path),
        topics_path=_text(topics_path),
        models_path=_text(models_path),
        judges_path=_text(judges_path),
        weaknesses_path=_text(weaknesses),
        debate_format=debate_format,
        rubric=rubric,
        control_ratio=control_ratio,
    )
    options = with_begun_options(begun, options, _given(context))
    if options.control_ratio is not None and options.weaknesses_path is None:
        raise UsageError("--control-ratio has no effect without --weaknesses; give both.")
    if options.control_ratio is None and options.weaknesses_path is not None:
        options = options.model_copy(update={"control_ratio": CONTROL_RATIO})
    _note_packaged(workspace, options)
    inputs = load_inputs(workspace, options)
    if probe:
        checking.probe_models(checking.chosen(inputs, options), output)
        return
    if judges_test:
        checking.test_judges(workspace, checking.chosen(inputs, options), options, output)
        return
    if not no_input and not resume:
        inputs, options = asked_for(workspace, run_tag, inputs, options)
    plan, part = planned(workspace, run_tag, begun, inputs, options, new_model or (), new_judge or ())
    if plan.has_judge_overlap:
        note("Warning: a debater of this run is also a judge; the run is marked, and its verdicts may favour it.")
    from debatebench.play.bans import EMPTY_DEBATES

    session = RunSession(
        concurrency=concurrency,
        retry_failed=retry_failed,
        replaceable=frozenset(replace_parameters or ()),
        empty_debates=(empty_debates or EMPTY_DEBATES) if skip_on_empty else None,
        max_cost=max_cost,
        max_ambiguous_retries=max_ambiguous_retries,
        wait_for_limit=wait_for_limit,
        wait_for_provider=wait_for_provider,
        max_failures_in_a_row=max_failures_in_a_row,
        is_asking=not (yes or no_input),
        is_dry=dry_run or estimate_time,
        is_timed=estimate_time,
        no_build=no_build,
        log_failed_judges=log_failed_judges,
        output=output,
    )
    session.go(workspace, plan, part)


def retry(
    context: typer.Context,
    run_tag: Annotated[str, typer.Argument(metavar="TAG", help="The run.", autocompletion=run_tags)],
    new_judge: parameters.NewJudge = None,
    replace_parameters: parameters.ReplaceParameters = None,
    concurrency: parameters.Concurrency = 32,
    max_cost: parameters.MaxCost = None,
    yes: parameters.Yes = False,
    dry_run: parameters.DryRun = False,
    no_build: parameters.NoBuild = False,
    output: FormatOption = Format.TABLE,
) -> None:
    """Retry what failed in a run: calls without an answer, and judges of seats without a valid verdict.

    The same as `run --run-tag TAG --retry-failed`. Only what is missing is bought.
    """
    from debatebench.cli.judge import judge_again

    if judge_again(
        context,
        run_tag,
        new_judge=new_judge,
        replace_parameters=replace_parameters,
        concurrency=concurrency,
        max_cost=max_cost,
        yes=yes,
        dry_run=dry_run,
        no_build=no_build,
        output=output,
    ):
        return
    run(
        context,
        run_tag=run_tag,
        retry_failed=True,
        new_judge=new_judge,
        replace_parameters=replace_parameters,
        concurrency=concurrency,
        max_cost=max_cost,
        yes=yes,
        dry_run=dry_run,
        no_build=no_build,
        output=output,
    )


def _given(context: typer.Context) -> set[str]:
    """The fields of `PlanOptions` that the command line states, among the names of other options."""
    sources = {name: context.get_parameter_source(name) for name in context.params}
    stated = (name for name, source in sources.items() if source is not None and source.name == "COMMANDLINE")
    return {_FIELDS.get(name, name) for name in stated}


def _text(path: Path | None) -> str | None:
    return None if path is None else str(path)


def _ids(given: list[str] | None) -> tuple[str, ...] | None:
    return tuple(dict.fromkeys(given)) if given else None


def _note_packaged(workspace: Workspace, options: PlanOptions) -> None:
    """Say that the packaged configuration is used, where the workspace has none and the options name no files."""
    given = (options.config_path, options.topics_path, options.models_path, options.judges_path)
    if None in given and not os.path.lexists(workspace.configs):
        note(
            f"No configs/ in {workspace.root.resolve()}: the packaged configuration is used, with simulated debaters "
            "and judges; `debatebench init` writes files to edit."
        )
