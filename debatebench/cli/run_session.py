"""A session of a run, whether it plays debates or judges stored ones: a dry run, a question, or the run itself."""

from __future__ import annotations

import os
from collections.abc import Collection
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING

from debatebench.cli.common import note, now, warn
from debatebench.cli.garbage import collect_rarely
from debatebench.cli.playing_options import SessionOptions
from debatebench.cli.stored_answers import with_stored_use
from debatebench.shared.amounts import amount_text, known_names
from debatebench.shared.errors import DebatebenchError, RunIncompleteError, UsageError
from debatebench.shared.formats import Format

if TYPE_CHECKING:
    from debatebench.plan.plan import Plan, PlannedShard, PlanPart
    from debatebench.play.before_run import RunSettings, Transcripts
    from debatebench.shared.workspace import Workspace


def play_session(
    workspace: Workspace,
    plan: Plan,
    part: PlanPart | None,
    options: SessionOptions,
    output: Format,
    *,
    retry_failed: bool,
    empty_debates: int | None = None,
    transcripts: Transcripts | None = None,
    plan_file: Path | None = None,
) -> None:
    """Print what would be done, or do it: play, land, build, report. `transcripts` are those that are judged.

    `plan_file` is the file that the plan is from, if it is frozen in one. A shard of it does not land by itself.
    """
    from debatebench.cli import run_cost
    from debatebench.journal.shards import check_place, place_plan
    from debatebench.play.before_run import RunSettings
    from debatebench.play.retries import RetryPolicy

    settings = RunSettings(
        concurrency=options.concurrency,
        retry_failed=retry_failed,
        replaceable=frozenset(options.replace_parameters or ()),
        empty_debates=empty_debates,
        policy=RetryPolicy(
            ambiguous=options.max_ambiguous_retries,
            busy_s=options.wait_for_limit,
            unreachable_s=options.wait_for_provider,
            failures_in_a_row=options.max_failures_in_a_row,
        ),
        max_cost=_limit_of(plan, options.max_cost),
    )
    if options.plan_output is not None and not options.is_dry:
        raise UsageError("--plan-output writes the plan of a dry run: add --dry-run.")
    if plan.shard is not None:
        check_place(workspace.journal, plan.run_tag, plan.shard.shard, plan.shard.plan_sha256)
        _note_shard(plan, plan.shard, settings.max_cost)
    _check_replaceable(plan, settings.replaceable)
    if not options.is_dry:
        collect_rarely()
    if options.is_dry or (not (options.yes or options.no_input) and run_cost.is_asked()):
        expected = run_cost.expected_run(workspace, plan, part, settings, is_built=not options.no_build)
        if options.is_dry:
            run_cost.print_plan(workspace, expected, output, plan_file or options.plan_output)
            if options.estimate_time:
                run_cost.print_time(workspace, expected.plan, options.concurrency)
            return
        run_cost.confirm(expected)
        # Each catalogue of prices is read once.
        plan, part = expected.checked.ready.plan, expected.checked.ready.part
    if plan.shard is not None and plan_file is not None:
        place_plan(workspace.journal, plan.run_tag, plan_file, plan.shard.plan_sha256)
    _play(workspace, plan, part, settings, options, output, transcripts)


def _limit_of(plan: Plan, max_cost: float | None) -> Decimal | None:
    """What this session's run may cost: of a shard, its part."""
    if max_cost is None:
        return None
    whole = Decimal(str(max_cost))
    return whole if plan.shard is None else plan.shard.of_cost(whole)


def _note_shard(plan: Plan, shard: PlannedShard, max_cost: Decimal | None) -> None:
    """Say what part of the plan a shard is."""
    limit = "" if max_cost is None else f"; it may cost {amount_text(max_cost)} USD"
    note(
        f"Shard {shard.shard} of run '{plan.run_tag}': {len(plan.debates):,} of {shard.debates:,} debates, "
        f"{shard.share:.1%} of what the plan takes{limit}."
    )


def _play(
    workspace: Workspace,
    plan: Plan,
    part: PlanPart | None,
    settings: RunSettings,
    options: SessionOptions,
    output: Format,
    transcripts: Transcripts | None,
) -> None:
    """Play the run, land its result, then print how it ended."""
    from debatebench.cli.progress_display import watching
    from debatebench.cli.run_report import (
        advice_on_missing,
        is_all_simulated,
        note_costs,
        note_cut_speeches,
        note_missing,
        print_report,
    )
    from debatebench.journal.shards import journal_at
    from debatebench.plan.stored_use import StoredUse
    from debatebench.play.progress import Progress
    from debatebench.play.runner import play_run
    from debatebench.warehouse.sources import check_before_run

    whole = plan if part is None else plan.with_part(part)
    progress = Progress(is_simulated=is_all_simulated(whole))
    shard = None if plan.shard is None else plan.shard.shard
    journal = journal_at(workspace.journal, plan.run_tag, shard)
    check_before_run(workspace, plan.run_tag, shard, is_built=not options.no_build)
    stored = with_stored_use(workspace, plan.run_tag, StoredUse())
    try:
        with watching(plan.run_tag, progress, workspace.progress / f"{_name_of(plan)}.json"):
            report = play_run(
                plan,
                journal,
                settings,
                environ=os.environ,
                now=now,
                progress=progress,
                warn=warn,
                part=part,
                stored=stored,
                transcripts=transcripts,
            )
    except DebatebenchError:
        # Without planned debates this session did not begin: another process may be playing the run.
        if progress.debates_planned:
            if shard is None:
                _try_to_land(workspace, plan.run_tag, options.no_build)
            note_costs(progress, None)
            note_missing(progress, whole)
        raise
    finally:
        if options.log_failed_judges and journal.exists():
            _log_failed_judges(workspace, journal, _name_of(plan))
    try:
        if shard is None:
            _land(workspace, plan.run_tag, options.no_build)
            note_cut_speeches(workspace, plan.run_tag)
    finally:
        print_report(report, whole, output)
    if shard is not None:
        note(
            f"Shard {shard} has ended, and its answers are in {journal}. With the journals of all shards in that "
            f"folder, `debatebench land --run-tag {plan.run_tag}` joins them."
        )
    if report.missing:
        raise RunIncompleteError(
            f"{len(report.missing)} of {report.planned} debates of run '{report.run_tag}' are missing; "
            f"{advice_on_missing(report)}."
        )


def _name_of(plan: Plan) -> str:
    """The name of files about what this process plays."""
    return plan.run_tag if plan.shard is None else f"{plan.run_tag}.{plan.shard.shard.name}"


def _check_replaceable(plan: Plan, ids: Collection[str]) -> None:
    known = {member.id for member in (*plan.debaters, *plan.judges)}
    for id_ in ids:
        if id_ not in known:
            raise UsageError(
                f"--replace-parameters: run '{plan.run_tag}' has no debater or judge '{id_}'."
                f"{known_names(id_, sorted(known))}"
            )


def _try_to_land(workspace: Workspace, run_tag: str, no_build: bool) -> None:
    """Land what an interrupted run left; the reason for its end matters more than an error of landing."""
    from debatebench.cli.run_report import note_cut_speeches

    try:
        _land(workspace, run_tag, no_build)
        note_cut_speeches(workspace, run_tag)
    except DebatebenchError as problem:
        note(f"Run '{run_tag}' was not landed: {problem}")


def _land(workspace: Workspace, run_tag: str, no_build: bool) -> None:
    from debatebench.cli.warehouse import report_update
    from debatebench.warehouse.update import update_warehouse

    report_update(workspace, update_warehouse(workspace, [run_tag], now=now, build=not no_build, note=note))


def _log_failed_judges(workspace: Workspace, journal: Path, name: str) -> None:
    """Write every unusable answer of the run's judges so far to a separate file."""
    from debatebench.landing.failed_judges import write_failed_judges

    path = workspace.warehouse / "failed_judges" / f"{name}.jsonl"
    count = write_failed_judges(journal, path)
    note(f"Wrote {count:,} unusable answers of judges to {path}.")
