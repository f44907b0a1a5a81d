"""`debatebench run`."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from debatebench.cli.common import Format, FormatOption, note, now, print_rows, workspace_of
from debatebench.errors import DebatebenchError, RunIncompleteError, UsageError

if TYPE_CHECKING:
    from debatebench.runner import RunReport
    from debatebench.schedule import Plan
    from debatebench.workspace import Workspace

__all__ = ["run"]

_MOST_REASONS = 20


def run(
    context: typer.Context,
    run_tag: Annotated[
        str | None, typer.Option("--run-tag", help="The name of the run; an unfinished one goes on. Default: the time.")
    ] = None,
    config_path: Annotated[Path | None, typer.Option(help="Default: configs/config.yaml.")] = None,
    topics_path: Annotated[Path | None, typer.Option(help="Default: configs/topics.json.")] = None,
    models_path: Annotated[Path | None, typer.Option(help="The debaters. Default: configs/models.yaml.")] = None,
    judges_path: Annotated[Path | None, typer.Option(help="Default: configs/judges.yaml.")] = None,
    sample_topics: Annotated[
        int | None, typer.Option("--sample-topics", min=1, help="Play this many topics, drawn by the seed.")
    ] = None,
    debates_per_pair: Annotated[int, typer.Option(min=1, help="Debates per pair of debaters and topic.")] = 1,
    balanced_sides: Annotated[
        bool, typer.Option("--balanced-sides/--no-balanced-sides", help="Every pair meets in both orders.")
    ] = True,
    swap_sides: Annotated[bool, typer.Option("--swap-sides", help="Flip sides per debate, by the seed.")] = False,
    balanced_judges: Annotated[
        bool, typer.Option("--balanced-judges/--random-judges", help="Even out how often judges sit, and together.")
    ] = True,
    judges_from_selection: Annotated[
        bool, typer.Option("--judges-from-selection", help="The debaters judge each other's debates.")
    ] = False,
    allow_judge_overlap: Annotated[
        bool, typer.Option("--allow-judge-overlap", help="Let a debater judge, and mark the run.")
    ] = False,
    seed: Annotated[int, typer.Option(help="Decides every draw of the plan.")] = 12345,
    concurrency: Annotated[int, typer.Option(min=1, max=4096, help="Most requests in flight.")] = 32,
    resume: Annotated[bool, typer.Option("--resume", help="Go on with an unfinished run; also the default.")] = False,
    retry_failed: Annotated[bool, typer.Option("--retry-failed", help="Ask again what had failed for good.")] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Print the plan and its cost; ask nobody.")] = False,
    no_build: Annotated[bool, typer.Option("--no-build", help="Land, but leave the SQL models for later.")] = False,
    output: FormatOption = Format.TABLE,
) -> None:
    """Play a tournament, land it in the warehouse and build the SQL models."""
    from debatebench.config import load_config, load_judges, load_models, load_topics
    from debatebench.prompts import load_prompts
    from debatebench.schedule import PlanOptions, make_plan
    from debatebench.versions import git_commit
    from debatebench.workspace import check_run_tag

    workspace = workspace_of(context)
    run_tag = now().strftime("run-%Y%m%d-%H%M%S") if run_tag is None else run_tag
    check_run_tag(run_tag)
    if (workspace.imports / run_tag).exists():
        raise UsageError(f"Run tag '{run_tag}' names an import already; choose another --run-tag.")
    config = load_config(config_path or workspace.config_file("config.yaml"))
    debaters = load_models(models_path or workspace.config_file("models.yaml"))
    judges = load_judges(judges_path or workspace.config_file("judges.yaml"))
    plan = make_plan(
        run_tag,
        config,
        load_topics(topics_path or workspace.config_file("topics.json")),
        debaters,
        judges,
        load_prompts(workspace, config, debaters if judges_from_selection else judges),
        PlanOptions(
            seed=seed,
            sample_topics=sample_topics,
            debates_per_pair=debates_per_pair,
            balanced_sides=balanced_sides,
            swap_sides=swap_sides,
            balanced_judges=balanced_judges,
            judges_from_selection=judges_from_selection,
            allow_judge_overlap=allow_judge_overlap,
        ),
        git_commit(),
    )
    if plan.has_judge_overlap:
        note("Warning: a debater of this run is also a judge; the run is marked, and its verdicts may favour it.")
    if dry_run:
        _print_plan(workspace, plan, output)
        return
    _play(workspace, plan, concurrency, retry_failed, no_build, output)


def _print_plan(workspace: Workspace, plan: Plan, output: Format) -> None:
    """Print what a run would do and cost, and write the plan to `warehouse/plans/`."""
    import json

    from debatebench.files import write_atomically
    from debatebench.schedule import estimate

    path = workspace.plans / f"{plan.run_tag}.json"
    write_atomically(path, json.dumps(plan.to_json(), sort_keys=True, indent=1, ensure_ascii=False) + "\n")
    expected = estimate(plan)
    columns, rows = expected.table()
    print_rows(columns, rows, output)
    if output is Format.TABLE:
        typer.echo(expected.summary())
    note(f"Nothing was asked. The plan is in {path}.")


def _play(
    workspace: Workspace, plan: Plan, concurrency: int, retry_failed: bool, no_build: bool, output: Format
) -> None:
    """Play, land whatever came of it, then say how it ended."""
    from debatebench.cli.progress_display import watching
    from debatebench.progress import Progress
    from debatebench.runner import RunSettings, play_run

    progress = Progress()
    journal = workspace.journal / f"{plan.run_tag}.jsonl"
    try:
        with watching(plan.run_tag, progress):
            report = play_run(
                plan,
                journal,
                RunSettings(concurrency=concurrency, retry_failed=retry_failed),
                environ=os.environ,
                now=now,
                progress=progress,
            )
    except DebatebenchError:
        if progress.debates_done:
            _try_to_land(workspace, plan.run_tag, no_build)
        raise
    try:
        _land(workspace, plan.run_tag, no_build)
    finally:
        _print_report(report, output)
    if report.missing:
        raise RunIncompleteError(
            f"{len(report.missing)} of {report.planned} debates of run '{report.run_tag}' are missing; "
            "`debatebench run` with the same arguments and --retry-failed asks again."
        )


def _try_to_land(workspace: Workspace, run_tag: str, no_build: bool) -> None:
    """Land what a broken-off run left; why it broke off matters more than why it could not be landed."""
    try:
        _land(workspace, run_tag, no_build)
    except DebatebenchError as problem:
        note(f"Run '{run_tag}' was not landed: {problem}")


def _land(workspace: Workspace, run_tag: str, no_build: bool) -> None:
    from debatebench.cli.warehouse import report_update
    from debatebench.warehouse import update_warehouse

    report_update(update_warehouse(workspace, [run_tag], now=now, build=not no_build))


def _print_report(report: RunReport, output: Format) -> None:
    """Print how the run ended, and what is missing."""
    progress = report.progress
    columns = ["run_tag", "planned", "complete", "missing", "answered_calls", "failed_attempts", "cost_usd", "unpriced"]
    row = [
        report.run_tag,
        report.planned,
        report.complete,
        len(report.missing),
        progress.calls_answered,
        progress.calls_failed,
        progress.cost,
        progress.unpriced_calls,
    ]
    print_rows(columns, [row], output)
    if report.ambiguous_calls:
        note(f"{report.ambiguous_calls} calls were in flight when a session ended; they may have been billed twice.")
    for debate_id, reason in report.missing[:_MOST_REASONS]:
        note(f"missing {debate_id}: {reason}")
    if len(report.missing) > _MOST_REASONS:
        note(f"… and {len(report.missing) - _MOST_REASONS} more")
