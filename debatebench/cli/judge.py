"""`debatebench judge` and `debatebench probe-judges`: stored debates are judged again, as they are or attacked."""

from __future__ import annotations

from typing import Annotated

import typer

from debatebench.cli import completion
from debatebench.cli import playing_options as opt
from debatebench.cli.common import FormatOption, stated_options, workspace_of
from debatebench.cli.judging_plan import panel_of, planned_judging
from debatebench.cli.run_session import play_session
from debatebench.shared.formats import Format

JUDGE_EXAMPLES = """\b
Examples:
  debatebench judge my-run --as my-run-debatrix --judge-method debatrix --dry-run   what it would do and cost
  debatebench judge my-run --as my-run-debatrix --judge-method debatrix             judge, or go on where it stopped
  debatebench judge panelbench --as beat-this --baseline always_con --baseline longest
"""
PROBE_EXAMPLES = """\b
Examples:
  debatebench probe-judges my-run --as my-run-probed --dry-run            what it would do and cost
  debatebench probe-judges my-run --as my-run-probed --judge gpt-judge    probe, or go on where it stopped
  debatebench probe-judges my-run --as mine --attacks my-attacks.yaml --max-cost 5
"""

Source = Annotated[
    str,
    typer.Argument(
        metavar="SOURCE",
        autocompletion=completion.run_tags,
        help="The run or import whose debates are judged.",
        rich_help_panel="What is judged",
    ),
]


def judge(
    context: typer.Context,
    *,
    source: Source,
    new_tag: opt.NewTag,
    options: opt.JudgedOptions,
    retry_failed: opt.RetryFailed = False,
    session: opt.SessionOptions,
    output: FormatOption = Format.TABLE,
) -> None:
    """Judge stored debates again, as a run of its own.

    The debates are those of any run or import. The dimensions are those of config.yaml (or --config-path), or of
    --rubric. Baselines need no judges and cost nothing.
    """
    _judge(context, source, new_tag, options, session, output, retry_failed=retry_failed, is_probing=False)


def probe_judges(
    context: typer.Context,
    *,
    source: Source,
    new_tag: opt.NewTag,
    options: opt.ProbedOptions,
    retry_failed: opt.RetryFailed = False,
    session: opt.SessionOptions,
    output: FormatOption = Format.TABLE,
) -> None:
    """Probe how far attacks in speeches lead judges.

    They judge stored debates clean, and altered by attacks. Each attack alters the speeches of one side, drawn so that
    both sides attack equally often. `debatebench report` shows how often a judge changed its verdict towards the
    attacker; no rating or agreement contains attacked debates.
    """
    _judge(context, source, new_tag, options, session, output, retry_failed=retry_failed, is_probing=True)


def _judge(
    context: typer.Context,
    source: str,
    new_tag: str,
    options: opt.StoredOptions,
    session: opt.SessionOptions,
    output: Format,
    *,
    retry_failed: bool,
    is_probing: bool,
) -> None:
    workspace, stated = workspace_of(context), stated_options(context)
    debates = options.selected_debates
    wanted = options.plan_options(
        selected_debates=None if debates is None else opt.ids_in(debates),
        panel_size=panel_of(options.panel_size, options.baselines, stated),
    )
    plan, part, transcripts = planned_judging(
        workspace, source, new_tag, wanted, stated, session.new_judge or (), retry_failed, is_probing=is_probing
    )
    play_session(workspace, plan, part, session, output, retry_failed=retry_failed, transcripts=transcripts)
