"""`debatebench run` and `debatebench retry`."""

from __future__ import annotations

import os
from collections.abc import Collection
from dataclasses import replace
from typing import TYPE_CHECKING, Annotated

import typer

from debatebench.cli import completion
from debatebench.cli import playing_options as opt
from debatebench.cli import run_checks as checking
from debatebench.cli.common import FormatOption, note, now, stated_options, warn, workspace_of
from debatebench.cli.run_session import play_session
from debatebench.shared.amounts import known_names
from debatebench.shared.errors import UsageError
from debatebench.shared.formats import FORMATS, SHORT_NAMES, Format

if TYPE_CHECKING:
    from debatebench.cli.frozen_run import FrozenRun
    from debatebench.plan.plan import Plan, PlanOptions
    from debatebench.shared.workspace import Workspace

EXAMPLES = """\b
Examples:
  debatebench run --run-tag first --sample-topics 5 --dry-run   what it would do and cost
  debatebench run --run-tag first --sample-topics 5             play it
  debatebench run --run-tag first                               go on where it stopped
  debatebench retry first                                       ask again what failed
"""

_SAMPLING = "plays all debaters on all topics in both orders"
_CONTRADICTIONS = {
    ("--prod-run", "--quick-test"): "one plays everything, and the other as little as possible",
    ("--prod-run", "--sample-topics"): f"--prod-run {_SAMPLING}",
    ("--prod-run", "--topic"): f"--prod-run {_SAMPLING}",
    ("--prod-run", "--debater"): f"--prod-run {_SAMPLING}",
    ("--prod-run", "--no-balanced-sides"): f"--prod-run {_SAMPLING}",
    ("--prod-run", "--swap-sides"): f"--prod-run {_SAMPLING}",
    ("--quick-test", "--sample-topics"): "--quick-test draws one topic",
    (
        "--quick-test",
        "--judges-from-selection",
    ): "--quick-test has two debaters, and a debater never judges its own debates",
    ("--drop-silent", "--dry-run"): "--drop-silent sends requests",
    ("--drop-silent", "--estimate-time"): "--drop-silent sends requests",
    ("--drop-silent", "--probe"): "--probe only asks and plays nothing",
    ("--prod-run", "--category"): f"--prod-run {_SAMPLING}",
    ("--prod-run", "--resolution"): f"--prod-run {_SAMPLING}",
    ("--resolution", "--topic"): "--resolution is a topic of its own",
    ("--resolution", "--sample-topics"): "--resolution is one topic",
    ("--resolution", "--topics-path"): "--resolution is a topic of its own",
    (
        "--judge-max-tokens",
        "--judges-from-selection",
    ): "a debater that judges has one limit, the token_limit of its entry in models.yaml",
    ("--judge", "--judges-from-selection"): "with --judges-from-selection the debaters are the judges",
}
_ALONE = ("--judges-test", "--probe", "--list-prompts")
_PLAYING = (
    "--new-model",
    "--new-judge",
    "--retry-failed",
    "--dry-run",
    "--estimate-time",
    "--quick-test",
    "--prod-run",
)


def refuse_contradictions(stated: Collection[str]) -> None:
    """Raise `UsageError` for options of `run` that cannot be combined; `stated` are those that the user wrote."""
    for (one, other), why in _CONTRADICTIONS.items():
        if one in stated and other in stated:
            raise UsageError(f"{one} and {other} cannot be combined: {why}. Leave one out.")
    for alone in _ALONE:
        for other in (*_ALONE, *_PLAYING):
            if alone != other and alone in stated and other in stated:
                raise UsageError(f"{alone} does not play a run, so it cannot be combined with {other}. Leave one out.")


def run(
    context: typer.Context,
    *,
    run_tag: Annotated[
        str | None,
        opt.of_play(
            "--run-tag",
            autocompletion=completion.run_tags,
            help="The name of the run. An unfinished run is resumed, and needs no other option. Default: the current "
            "time.",
        ),
    ] = None,
    plan_file: opt.PlanFile = None,
    shard: opt.ShardOption = None,
    options: opt.PlayedOptions,
    quick_test: Annotated[
        bool,
        opt.of_play(
            "--quick-test",
            help="Play one topic with two debaters, drawn with the seed, and at most 3 judges, which may be debaters. "
            "If configs/quick-test-models.yaml exists, it names them.",
        ),
    ] = False,
    prod_run: Annotated[
        bool,
        opt.of_play(
            "--prod-run",
            help="Play all debaters on all topics in both orders. Simulated debaters and judges are refused.",
        ),
    ] = False,
    list_prompts: Annotated[
        bool, opt.of_files("--list-prompts", help="List the prompts in configs/prompts/ and exit.")
    ] = False,
    resume: Annotated[bool, opt.of_begun("--resume", help="Resume an unfinished run, and never begin one.")] = False,
    retry_failed: opt.RetryFailed = False,
    new_model: Annotated[
        list[str] | None,
        opt.of_begun(
            "--new-model",
            autocompletion=completion.debaters,
            help="Add this debater of models.yaml, and its debates. Repeatable.",
        ),
    ] = None,
    session: opt.SessionOptions,
    skip_on_empty: Annotated[
        bool, opt.of_limits("--skip-on-empty", help="Ban a debater that keeps giving empty answers.")
    ] = False,
    empty_debates: Annotated[
        int | None,
        opt.of_limits(
            min=1,
            help="With --skip-on-empty, ban a debater after this many debates in a row without its speech. Default: 3.",
        ),
    ] = None,
    judges_test: Annotated[
        bool, opt.of_checks("--judges-test", help="Only have each judge judge a tiny debate. Nothing is landed.")
    ] = False,
    probe: Annotated[
        bool,
        opt.of_checks(
            "--probe",
            "--openrouter-probe",
            help="Only send one tiny request to each hosted model. Nothing is landed.",
        ),
    ] = False,
    drop_silent: Annotated[
        bool,
        opt.of_checks(
            "--drop-silent",
            help="Send one tiny request to each hosted model first, and play without those that do not answer.",
        ),
    ] = False,
    output: Annotated[
        str, opt.of_output("--format", metavar=f"[{'|'.join(FORMATS)}]", help="How to print the result.")
    ] = Format.TABLE.value,
) -> None:
    """Play a tournament, land it and build the SQL models."""
    from debatebench.cli.frozen_run import frozen_run
    from debatebench.cli.playing_plan import load_inputs, planned, unknown_run, with_begun_options
    from debatebench.cli.run_wizard import asked_for
    from debatebench.plan.weaknesses import CONTROL_RATIO
    from debatebench.play.bans import EMPTY_DEBATES

    workspace, stated = workspace_of(context), stated_options(context)
    output = SHORT_NAMES.get(output, output)
    if output not in FORMATS:
        options, output = _with_former_format(options, stated, output), Format.TABLE.value
    refuse_contradictions(stated.values())
    if empty_debates is not None and not skip_on_empty:
        raise UsageError("--empty-debates has no effect without --skip-on-empty; give both.")
    if list_prompts:
        checking.list_prompts(workspace, Format(output))
        return
    if plan_file is not None or shard is not None:
        _play_frozen(
            workspace,
            frozen_run(workspace, plan_file, shard, run_tag, stated),
            session,
            Format(output),
            retry_failed=retry_failed,
            empty_debates=(empty_debates or EMPTY_DEBATES) if skip_on_empty else None,
        )
        return
    run_tag = now().strftime("run-%Y%m%d-%H%M%S") if run_tag is None else run_tag
    begun = _begun(workspace, run_tag)
    if begun is None and (resume or retry_failed or new_model or session.new_judge or session.replace_parameters):
        raise unknown_run(workspace, run_tag)
    preset = "quick-test" if quick_test else "prod-run" if prod_run else None
    wanted = with_begun_options(
        begun, options.plan_options(preset=preset), {*stated, *(() if preset is None else ("preset",))}
    )
    if wanted.weakness_types is not None and wanted.weaknesses_path is None:
        wanted = wanted.model_copy(update={"weaknesses_path": "configs/weaknesses.yaml"})
    if wanted.apply_stage_token_limits and wanted.max_tokens is None:
        raise UsageError(
            "--apply-stage-token-limits has no effect without --max-tokens: the limits of stages count then anyway."
        )
    if wanted.control_ratio is not None and wanted.weaknesses_path is None:
        raise UsageError("--control-ratio has no effect without --weaknesses or --weakness; give one of them.")
    if wanted.control_ratio is None and wanted.weaknesses_path is not None:
        wanted = wanted.model_copy(update={"control_ratio": CONTROL_RATIO})
    _note_packaged(workspace, wanted)
    inputs = load_inputs(workspace, wanted, begun)
    if probe:
        checking.probe_models(checking.chosen(inputs, wanted), Format(output))
        return
    if judges_test:
        checking.test_judges(workspace, checking.chosen(inputs, wanted), wanted, Format(output))
        return
    if not session.no_input and not resume:
        inputs, wanted = asked_for(workspace, run_tag, inputs, wanted)
    if drop_silent:
        if begun is not None:
            raise UsageError(
                f"--drop-silent is for a run that begins; the debaters and judges of '{run_tag}' are fixed."
            )
        wanted = checking.without_silent(inputs, wanted)
    plan, part = planned(workspace, run_tag, begun, inputs, wanted, new_model or (), session.new_judge or ())
    _note_overlap(plan)
    play_session(
        workspace,
        plan,
        part,
        session,
        Format(output),
        retry_failed=retry_failed,
        empty_debates=(empty_debates or EMPTY_DEBATES) if skip_on_empty else None,
    )


def retry(
    context: typer.Context,
    run_tag: Annotated[str, typer.Argument(metavar="TAG", help="The run.", autocompletion=completion.run_tags)],
    shard: opt.ShardOption = None,
    *,
    session: opt.SessionOptions,
    output: FormatOption = Format.TABLE,
) -> None:
    """Ask again for what failed in a run.

    These are calls without an answer, and judges of seats without a valid verdict. The same as `run --run-tag TAG
    --retry-failed`. Only what is missing is bought.
    """
    from debatebench.cli.frozen_run import frozen_run
    from debatebench.cli.judging_plan import planned_judging
    from debatebench.cli.playing_plan import load_inputs, planned, unknown_run
    from debatebench.plan.frozen_plan import read_begun_plan

    workspace, new_judges = workspace_of(context), session.new_judge or ()
    if shard is not None:
        frozen = frozen_run(workspace, None, shard, run_tag, stated_options(context))
        _play_frozen(workspace, frozen, session, output, retry_failed=True)
        return
    begun = read_begun_plan(workspace.journal / f"{run_tag}.jsonl")
    if begun is not None and begun.source is not None:
        plan, part, transcripts = planned_judging(
            workspace, begun.source.run_tag, run_tag, begun.options, set(), new_judges, True, is_probing=None
        )
    else:
        begun, transcripts = _begun(workspace, run_tag), None
        if begun is None:
            raise unknown_run(workspace, run_tag)
        _note_packaged(workspace, begun.options)
        inputs = load_inputs(workspace, begun.options, begun)
        plan, part = planned(workspace, run_tag, begun, inputs, begun.options, (), new_judges)
        _note_overlap(plan)
    play_session(workspace, plan, part, session, output, retry_failed=True, transcripts=transcripts)


def _play_frozen(
    workspace: Workspace,
    frozen: FrozenRun,
    session: opt.SessionOptions,
    output: Format,
    *,
    retry_failed: bool,
    empty_debates: int | None = None,
) -> None:
    """Play the plan of a file, or a shard of it."""
    _note_overlap(frozen.plan)
    play_session(
        workspace,
        frozen.plan,
        None,
        session,
        output,
        retry_failed=retry_failed,
        empty_debates=empty_debates,
        transcripts=frozen.transcripts,
        plan_file=frozen.file,
    )


def _with_former_format(options: opt.PlayedOptions, stated: dict[str, str], given: str) -> opt.PlayedOptions:
    """The options of a command line whose --format names a debate format, as the version before called that option."""
    if options.debate_format is not None:
        raise UsageError(f"--format is how to print the result, not '{given}'.{known_names(given, FORMATS)}")
    note(f"--format is how to print the result now; `--debate-format {given}` names the debate format.")
    stated["debate_format"] = "--debate-format"
    return replace(options, debate_format=given)


def _begun(workspace: Workspace, run_tag: str) -> Plan | None:
    """The plan of a run that has begun. Raises `UsageError` for a tag under which no debates can be played."""
    from debatebench.cli.playing_plan import begun_under

    begun = begun_under(workspace, run_tag, "--run-tag")
    if begun is not None and begun.source is not None:
        source = begun.source.run_tag
        command = "probe-judges" if begun.attacks else "judge"
        raise UsageError(
            f"Run '{run_tag}' judges the stored debates of '{source}': go on with it by "
            f"`debatebench {command} {source} --as {run_tag}`."
        )
    return begun


def _note_overlap(plan: Plan) -> None:
    if plan.has_judge_overlap:
        warn("a debater of this run is also a judge; the run is marked, and its verdicts may favour it.")


def _note_packaged(workspace: Workspace, options: PlanOptions) -> None:
    """Say that the packaged configuration is used, where the workspace has none and the options name no files."""
    given = (options.config_path, options.topics_path, options.models_path, options.judges_path)
    if None in given and not os.path.lexists(workspace.configs):
        note(
            f"No configs/ in {workspace.root.resolve()}: the packaged configuration is used, with simulated debaters "
            "and judges; `debatebench init` writes files to edit."
        )
