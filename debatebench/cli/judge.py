"""`debatebench judge`: stored debates are judged again, by other judges, methods and prompts."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from debatebench.cli import run_parameters as parameters
from debatebench.cli.common import Format, FormatOption, workspace_of
from debatebench.cli.completion import run_tags
from debatebench.cli.judging_plan import given_options, ids_in, panel_of, planned_judging
from debatebench.cli.run_session import RunSession

_WHAT = "What is judged"
_BY_WHOM = "By whom"
EXAMPLES = """\b
Examples:
  debatebench judge my-run --as my-run-debatrix --judge-method debatrix --dry-run   what it would do and cost
  debatebench judge my-run --as my-run-debatrix --judge-method debatrix             judge, or go on where it stopped
  debatebench judge panelbench --as beat-this --baseline always_con --baseline longest
"""

Source = Annotated[
    str,
    typer.Argument(metavar="SOURCE", help="The run or import whose debates are judged.", autocompletion=run_tags),
]
NewTag = Annotated[
    str,
    typer.Option("--as", metavar="TAG", help="The name of the new run. An unfinished one is resumed."),
]
Debates = Annotated[
    Path | None,
    typer.Option(
        exists=True,
        dir_okay=False,
        help="Judge only the debates whose ids this file lists, one on each line.",
        rich_help_panel=_WHAT,
    ),
]
Where = Annotated[
    str | None,
    typer.Option(
        metavar="SQL", help="Judge only the debates for which this holds in marts.debates.", rich_help_panel=_WHAT
    ),
]
Repeat = Annotated[
    int,
    typer.Option(
        min=1,
        max=1000,
        help="Judge each debate this often, to see whether a judge agrees with itself. Trials of a debate are "
        "averaged: they are no further evidence.",
        rich_help_panel=_WHAT,
    ),
]
PanelSize = Annotated[
    int | None,
    typer.Option(min=1, help="Judges per debate, drawn with the seed. Default: all judges.", rich_help_panel=_BY_WHOM),
]
BaselineOption = Annotated[
    list[str] | None,
    typer.Option(
        "--baseline",
        help="Judge by this rule, which asks nobody: always_pro, always_con, always_tie, majority_class, longest, "
        "longest_words, random, last_speaker, lexical_clash; for four teams also always_og, always_oo, always_cg, "
        "always_co. Repeatable. Judges are asked beside baselines only if an "
        "option chooses them: --judge, --judges-path, --judge-method, --judge-prompt or --panel-size.",
        rich_help_panel=_BY_WHOM,
    ),
]


def judge(
    context: typer.Context,
    source: Source,
    new_tag: NewTag,
    debates: Debates = None,
    where: Where = None,
    repeat: Repeat = 1,
    judge_: parameters.Judge = None,
    panel_size: PanelSize = None,
    baseline: BaselineOption = None,
    balanced_judges: parameters.BalancedJudges = True,
    allow_judge_overlap: parameters.AllowJudgeOverlap = False,
    swap_order: parameters.SwapOrder = False,
    seed: parameters.Seed = 12345,
    config_path: parameters.ConfigPath = None,
    judges_path: parameters.JudgesPath = None,
    rubric: parameters.Rubric = None,
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
    """Judge the stored debates of a run or import again, as a run of its own.

    The dimensions are those of config.yaml (or --config-path), or of --rubric. Baselines need no judges and cost
    nothing.
    """
    from debatebench.plan.plan import PlanOptions

    workspace = workspace_of(context)
    given = given_options(context)
    options = PlanOptions(
        seed=seed,
        balanced_judges=balanced_judges,
        allow_judge_overlap=allow_judge_overlap,
        swap_order=swap_order,
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
    )
    plan, part, transcripts = planned_judging(workspace, source, new_tag, options, given, new_judge or (), retry_failed)
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


def judge_again(
    context: typer.Context,
    run_tag: str,
    *,
    new_judge: Sequence[str] | None,
    replace_parameters: Sequence[str] | None,
    concurrency: int,
    max_cost: float | None,
    yes: bool,
    dry_run: bool,
    no_build: bool,
    output: Format,
) -> bool:
    """Retry a run that judges stored debates; False, and nothing is done, if the run is of another kind."""
    from debatebench.plan.frozen_plan import read_begun_plan

    workspace = workspace_of(context)
    begun = read_begun_plan(workspace.journal / f"{run_tag}.jsonl")
    if begun is None or begun.source is None:
        return False
    plan, part, transcripts = planned_judging(
        workspace, begun.source.run_tag, run_tag, begun.options, set(), new_judge or (), True, is_probing=None
    )
    session = RunSession(
        concurrency=concurrency,
        retry_failed=True,
        replaceable=frozenset(replace_parameters or ()),
        max_cost=max_cost,
        is_asking=not yes,
        is_dry=dry_run,
        no_build=no_build,
        output=output,
    )
    session.go(workspace, plan, part, transcripts)
    return True
