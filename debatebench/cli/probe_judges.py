"""`debatebench probe-judges`: how far judges can be led, by attacked copies of stored debates beside clean ones."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from debatebench.cli import judge as judging
from debatebench.cli import run_parameters as parameters
from debatebench.cli.common import Format, FormatOption, workspace_of
from debatebench.cli.completion import run_tags
from debatebench.cli.judging_plan import given_options, ids_in, panel_of, planned_judging
from debatebench.cli.run_session import RunSession

EXAMPLES = """\b
Examples:
  debatebench probe-judges --run-tag my-run --as my-run-probed --dry-run            what it would do and cost
  debatebench probe-judges --run-tag my-run --as my-run-probed --judge gpt-judge    probe, or go on where it stopped
  debatebench probe-judges --run-tag my-run --as mine --attacks my-attacks.yaml --max-cost 5
"""

Source = Annotated[
    str,
    typer.Option(
        "--run-tag",
        metavar="SOURCE",
        help="The run or import whose debates are judged, clean and attacked.",
        autocompletion=run_tags,
    ),
]
Attacks = Annotated[
    Path | None,
    typer.Option(
        exists=True,
        dir_okay=False,
        help="The attacks. Default: configs/attacks.yaml, or the packaged ones.",
        rich_help_panel="What is judged",
    ),
]


def probe_judges(
    context: typer.Context,
    source: Source,
    new_tag: judging.NewTag,
    attacks: Attacks = None,
    debates: judging.Debates = None,
    where: judging.Where = None,
    repeat: judging.Repeat = 1,
    judge_: parameters.Judge = None,
    panel_size: judging.PanelSize = None,
    baseline: judging.BaselineOption = None,
    balanced_judges: parameters.BalancedJudges = True,
    allow_judge_overlap: parameters.AllowJudgeOverlap = False,
    seed: parameters.Seed = 12345,
    config_path: parameters.ConfigPath = None,
    rubric: parameters.Rubric = None,
    judges_path: parameters.JudgesPath = None,
    judge_prompt: parameters.JudgePrompt = None,
    judge_method: parameters.JudgeMethod = None,
    retry_failed: parameters.RetryFailed = False,
    new_judge: parameters.NewJudge = None,
    replace_parameters: parameters.ReplaceParameters = None,
    concurrency: parameters.Concurrency = 32,
    max_cost: parameters.MaxCost = None,
    yes: parameters.Yes = False,
    max_ambiguous_retries: parameters.MaxAmbiguousRetries = 3,
    wait_for_limit: parameters.WaitForLimit = 600.0,
    wait_for_provider: parameters.WaitForProvider = 600.0,
    max_failures_in_a_row: parameters.MaxFailuresInARow = 5,
    dry_run: parameters.DryRun = False,
    estimate_time: parameters.EstimateTime = False,
    no_build: parameters.NoBuild = False,
    log_failed_judges: parameters.LogFailedJudges = False,
    output: FormatOption = Format.TABLE,
) -> None:
    """Probe how far judges can be led: judge stored debates clean, and altered by attacks.

    Each attack alters the speeches of one side, drawn so that both sides attack equally often. `debatebench report`
    shows how often a judge changed its verdict towards the attacker; no rating or agreement contains attacked debates.
    """
    from debatebench.plan.plan import PlanOptions

    workspace = workspace_of(context)
    given = given_options(context)
    options = PlanOptions(
        seed=seed,
        balanced_judges=balanced_judges,
        allow_judge_overlap=allow_judge_overlap,
        repeat=repeat,
        panel_size=panel_of(panel_size, baseline, given),
        baselines=tuple(dict.fromkeys(baseline or ())),
        selected_debates=None if debates is None else ids_in(debates),
        where=where,
        selected_judges=tuple(dict.fromkeys(judge_)) if judge_ else None,
        judge_prompt=judge_prompt,
        judge_method=judge_method,
        config_path=None if config_path is None else str(config_path),
        judges_path=None if judges_path is None else str(judges_path),
        rubric=rubric,
        attacks_path=None if attacks is None else str(attacks),
    )
    plan, part, transcripts = planned_judging(
        workspace, source, new_tag, options, given, new_judge or (), retry_failed, is_probing=True
    )
    session = RunSession(
        concurrency=concurrency,
        retry_failed=retry_failed,
        replaceable=frozenset(replace_parameters or ()),
        max_cost=max_cost,
        max_ambiguous_retries=max_ambiguous_retries,
        wait_for_limit=wait_for_limit,
        wait_for_provider=wait_for_provider,
        max_failures_in_a_row=max_failures_in_a_row,
        is_asking=not yes,
        is_dry=dry_run or estimate_time,
        is_timed=estimate_time,
        no_build=no_build,
        log_failed_judges=log_failed_judges,
        output=output,
    )
    session.go(workspace, plan, part, transcripts)
