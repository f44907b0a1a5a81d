"""`debatebench run`."""

from __future__ import annotations

import gc
import os
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from debatebench.cli import run_checks as checking
from debatebench.cli.common import Format, FormatOption, note, now, print_rows, say, workspace_of
from debatebench.cli.run_options import asked_for, refuse_contradictions
from debatebench.shared.errors import DebatebenchError, RunIncompleteError, UsageError

if TYPE_CHECKING:
    from debatebench.plan.plan import Plan, PlanPart
    from debatebench.play.runner import RunSettings
    from debatebench.shared.workspace import Workspace

__all__ = ["retry", "run"]

# The number of live new objects after which the garbage collector runs.
_COLLECTED_AFTER = 20_000
# Options of the command that have another name in a plan.
_FIELDS = {
    "topic": "selected_topics",
    "debater": "selected_debaters",
    "judge": "selected_judges",
    "quick_test": "preset",
    "prod_run": "preset",
}


def run(
    context: typer.Context,
    run_tag: Annotated[
        str | None,
        typer.Option(
            "--run-tag",
            help="The name of the run. An unfinished run is resumed, and needs no other option. Default: the current "
            "time.",
        ),
    ] = None,
    config_path: Annotated[Path | None, typer.Option(help="Default: configs/config.yaml.")] = None,
    topics_path: Annotated[Path | None, typer.Option(help="Default: configs/topics.json.")] = None,
    models_path: Annotated[Path | None, typer.Option(help="The debaters. Default: configs/models.yaml.")] = None,
    judges_path: Annotated[Path | None, typer.Option(help="Default: configs/judges.yaml.")] = None,
    topic: Annotated[
        list[str] | None, typer.Option("--topic", help="Play only the topic with this id. Repeatable.")
    ] = None,
    debater: Annotated[
        list[str] | None, typer.Option("--debater", help="Play only with this debater, by id. Repeatable.")
    ] = None,
    judge: Annotated[
        list[str] | None, typer.Option("--judge", help="Use only the judge with this id. Repeatable.")
    ] = None,
    debater_prompt: Annotated[
        str | None,
        typer.Option(
            help="Style of the debaters' prompts: debater_pro_STYLE.md and debater_con_STYLE.md in configs/prompts/."
        ),
    ] = None,
    judge_prompt: Annotated[
        str | None, typer.Option(help="Style of the prompt of all judges: configs/prompts/judge_STYLE.md.")
    ] = None,
    list_prompts: Annotated[
        bool, typer.Option("--list-prompts", help="List the prompts in configs/prompts/ and exit.")
    ] = False,
    quick_test: Annotated[
        bool,
        typer.Option(
            "--quick-test",
            help="Play one topic with two debaters, drawn with the seed, and at most 3 judges, which may be debaters. "
            "If configs/quick-test-models.yaml exists, it names them.",
        ),
    ] = False,
    prod_run: Annotated[
        bool,
        typer.Option(
            "--prod-run",
            help="Play all debaters on all topics in both orders. Simulated debaters and judges are refused.",
        ),
    ] = False,
    new_model: Annotated[
        list[str] | None,
        typer.Option("--new-model", help="Add this debater of models.yaml to a run that has begun. Repeatable."),
    ] = None,
    sample_topics: Annotated[
        int | None, typer.Option("--sample-topics", min=1, help="Play this many topics, drawn with the seed.")
    ] = None,
    debates_per_pair: Annotated[int, typer.Option(min=1, help="Debates per pair of debaters and topic.")] = 1,
    balanced_sides: Annotated[
        bool, typer.Option("--balanced-sides/--no-balanced-sides", help="Each pair debates each topic in both orders.")
    ] = True,
    swap_sides: Annotated[
        bool, typer.Option("--swap-sides", help="Draw the sides of each debate with the seed.")
    ] = False,
    balanced_judges: Annotated[
        bool,
        typer.Option(
            "--balanced-judges/--random-judges", help="Balance how often judges sit on a panel, and with whom."
        ),
    ] = True,
    judges_from_selection: Annotated[
        bool, typer.Option("--judges-from-selection", help="The debaters judge each other's debates.")
    ] = False,
    allow_judge_overlap: Annotated[
        bool, typer.Option("--allow-judge-overlap", help="Allow a debater to be a judge too, and mark the run.")
    ] = False,
    swap_order: Annotated[
        bool,
        typer.Option("--swap-order", help="Show each judge con first in half of its debates, drawn with the seed."),
    ] = False,
    seed: Annotated[int, typer.Option(help="Seed of all random choices in the plan.")] = 12345,
    concurrency: Annotated[int, typer.Option(min=1, max=4096, help="Maximum number of requests in flight.")] = 32,
    resume: Annotated[bool, typer.Option("--resume", help="Resume an unfinished run, and never begin one.")] = False,
    retry_failed: Annotated[
        bool,
        typer.Option(
            "--retry-failed", help="Retry calls that failed permanently, and judges of seats without a valid verdict."
        ),
    ] = False,
    skip_on_empty: Annotated[
        bool, typer.Option("--skip-on-empty", help="Ban a debater that keeps giving empty answers.")
    ] = False,
    empty_debates: Annotated[
        int | None,
        typer.Option(
            min=1,
            help="With --skip-on-empty, ban a debater after this many debates in a row without its speech. Default: 3.",
        ),
    ] = None,
    max_cost: Annotated[
        float | None,
        typer.Option("--max-cost", min=0, help="Stop before a request that could raise the cost above this many USD."),
    ] = None,
    max_ambiguous_retries: Annotated[
        int, typer.Option(min=0, help="Retry a call at most this often when an attempt may have been billed.")
    ] = 3,
    log_failed_judges: Annotated[
        bool, typer.Option("--log-failed-judges", help="Write unusable answers of judges to warehouse/failed_judges/.")
    ] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Print the plan and its cost; send no requests.")] = False,
    estimate_time: Annotated[
        bool, typer.Option("--estimate-time", help="Like --dry-run, and estimate the duration from stored timings.")
    ] = False,
    judges_test: Annotated[
        bool, typer.Option("--judges-test", help="Only have each judge judge a tiny debate. Nothing is landed.")
    ] = False,
    openrouter_probe: Annotated[
        bool,
        typer.Option("--openrouter-probe", help="Only send one tiny request to each hosted model. Nothing is landed."),
    ] = False,
    no_input: Annotated[
        bool, typer.Option("--no-input", help="Do not ask what to play. By default, a new run at a terminal asks.")
    ] = False,
    no_build: Annotated[
        bool, typer.Option("--no-build", help="Land the run, but do not build the SQL models.")
    ] = False,
    output: FormatOption = Format.TABLE,
) -> None:
    """Play a tournament, land it and build the SQL models."""
    from debatebench.cli.run_inputs import load_inputs, planned, unknown_run, with_begun_options
    from debatebench.plan.frozen_plan import read_begun_plan
    from debatebench.plan.plan import PlanOptions
    from debatebench.shared.workspace import check_run_tag

    workspace = workspace_of(context)
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
            "--openrouter-probe": openrouter_probe,
            "--list-prompts": list_prompts,
            "--new-model": bool(new_model),
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
    if begun is None and (resume or retry_failed or new_model):
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
        config_path=_text(config_path),
        topics_path=_text(topics_path),
        models_path=_text(models_path),
        judges_path=_text(judges_path),
    )
    options = with_begun_options(begun, options, _given(context))
    inputs = load_inputs(workspace, options)
    if openrouter_probe:
        checking.probe_models(inputs, output)
        return
    if judges_test:
        checking.test_judges(workspace, inputs, judge_prompt, output)
        return
    if not no_input and not resume:
        inputs, options = asked_for(workspace, run_tag, inputs, options)
    plan, part = planned(workspace, run_tag, begun, inputs, options, new_model or ())
    if plan.has_judge_overlap:
        note("Warning: a debater of this run is also a judge; the run is marked, and its verdicts may favour it.")
    if dry_run or estimate_time:
        _print_plan(workspace, plan, part, output)
        if estimate_time:
            checking.print_time(workspace, plan if part is None else _only(plan, part), concurrency)
        return
    from debatebench.play.bans import EMPTY_DEBATES
    from debatebench.play.calls import RetryPolicy
    from debatebench.play.runner import RunSettings

    settings = RunSettings(
        concurrency=concurrency,
        retry_failed=retry_failed,
        empty_debates=(empty_debates or EMPTY_DEBATES) if skip_on_empty else None,
        policy=RetryPolicy(ambiguous=max_ambiguous_retries),
        max_cost=None if max_cost is None else Decimal(str(max_cost)),
    )
    _play(workspace, plan, part, settings, no_build, output, log_failed_judges)


def retry(
    context: typer.Context,
    run_tag: Annotated[str, typer.Argument(metavar="TAG", help="The run.")],
    concurrency: Annotated[int, typer.Option(min=1, max=4096, help="Maximum number of requests in flight.")] = 32,
    max_cost: Annotated[
        float | None,
        typer.Option("--max-cost", min=0, help="Stop before a request that could raise the cost above this many USD."),
    ] = None,
    no_build: Annotated[
        bool, typer.Option("--no-build", help="Land the run, but do not build the SQL models.")
    ] = False,
    output: FormatOption = Format.TABLE,
) -> None:
    """Retry what failed in a run: calls without an answer, and judges of seats without a valid verdict.

    The same as `run --run-tag TAG --retry-failed`. Only what is missing is bought.
    """
    run(
        context,
        run_tag=run_tag,
        retry_failed=True,
        concurrency=concurrency,
        max_cost=max_cost,
        no_input=True,
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


def _only(plan: Plan, part: PlanPart) -> Plan:
    """A plan of only what `part` adds."""
    added = plan.with_part(part)
    return added.model_copy(update={"debates": part.debates})


def _print_plan(workspace: Workspace, plan: Plan, part: PlanPart | None, output: Format) -> None:
    """Print what a run would do and cost, and write the plan to `warehouse/plans/`.

    For a run that gets new debaters, only the added part is printed; the file holds the whole plan.
    """
    import json

    from debatebench.cli.run_report import note_costs_so_far
    from debatebench.plan.cost_estimate import estimate
    from debatebench.shared.files import write_atomically

    path = workspace.plans / f"{plan.run_tag}.json"
    whole = plan if part is None else plan.with_part(part)
    write_atomically(path, json.dumps(whole.to_json(), sort_keys=True, indent=1, ensure_ascii=False) + "\n")
    expected = estimate(plan if part is None else _only(plan, part))
    columns, rows = expected.table()
    print_rows(columns, rows, output)
    if output is Format.TABLE:
        say(expected.summary())
    if part is not None:
        note(f"These are the {len(part.debates)} debates that --new-model adds to run '{plan.run_tag}'.")
    note_costs_so_far(workspace.journal / f"{plan.run_tag}.jsonl")
    note(f"No requests were sent. The plan is in {path}.")


def _play(
    workspace: Workspace,
    plan: Plan,
    part: PlanPart | None,
    settings: RunSettings,
    no_build: bool,
    output: Format,
    log_failed_judges: bool,
) -> None:
    """Play the run, land its result, then print how it ended."""
    from debatebench.cli.progress_display import watching
    from debatebench.cli.run_report import note_costs, note_missing, print_report
    from debatebench.play.progress import Progress
    from debatebench.play.runner import play_run
    from debatebench.warehouse.sources import check_before_run

    progress = Progress()
    journal = workspace.journal / f"{plan.run_tag}.jsonl"
    # All objects so far live to the end, so the garbage collector need not scan them again and again; and the objects
    # of a call are freed with it, nearly always without the collector.
    gc.freeze()
    gc.set_threshold(_COLLECTED_AFTER)
    # After that, because DuckDB complains at the exit about objects that were never collected.
    check_before_run(workspace, plan.run_tag)
    try:
        with watching(plan.run_tag, progress, workspace.progress / f"{plan.run_tag}.json"):
            report = play_run(
                plan, journal, settings, environ=os.environ, now=now, progress=progress, warn=_warn, part=part
            )
    except DebatebenchError as error:
        if progress.debates_done:
            _try_to_land(workspace, plan.run_tag, no_build)
        if progress.debates_planned:
            note_costs(progress, None)
        if isinstance(error, RunIncompleteError):
            note_missing(progress)
        raise
    finally:
        if log_failed_judges and journal.exists():
            _log_failed_judges(workspace, journal)
    try:
        _land(workspace, plan.run_tag, no_build)
    finally:
        print_report(report, output)
    if report.missing:
        raise RunIncompleteError(
            f"{len(report.missing)} of {report.planned} debates of run '{report.run_tag}' are missing; to retry them: "
            f"`debatebench retry {report.run_tag}`."
        )


def _try_to_land(workspace: Workspace, run_tag: str, no_build: bool) -> None:
    """Land what an interrupted run left; the reason for its end matters more than an error of landing."""
    try:
        _land(workspace, run_tag, no_build)
    except DebatebenchError as problem:
        note(f"Run '{run_tag}' was not landed: {problem}")


def _land(workspace: Workspace, run_tag: str, no_build: bool) -> None:
    from debatebench.cli.warehouse import report_update
    from debatebench.warehouse.update import update_warehouse

    report_update(update_warehouse(workspace, [run_tag], now=now, build=not no_build))


def _warn(text: str) -> None:
    note(f"Warning: {text}")


def _log_failed_judges(workspace: Workspace, journal: Path) -> None:
    """Write every unusable answer of the run's judges so far to a separate file."""
    from debatebench.landing.failed_judges import write_failed_judges

    path = workspace.warehouse / "failed_judges" / f"{journal.stem}.jsonl"
    count = write_failed_judges(journal, path)
    note(f"Wrote {count:,} unusable answers of judges to {path}.")
