"""A session of a run, whether it plays debates or judges stored ones: a dry run, a question, or the run itself."""

from __future__ import annotations

import gc
import os
import sys
from collections.abc import Collection
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING

from debatebench.cli import run_checks as checking
from debatebench.cli import run_cost
from debatebench.cli.common import Format, note, now
from debatebench.shared.errors import DebatebenchError, RunIncompleteError, UsageError

if TYPE_CHECKING:
    from debatebench.plan.plan import Plan, PlanPart
    from debatebench.play.before_run import Transcripts
    from debatebench.play.runner import RunSettings
    from debatebench.shared.workspace import Workspace

# The number of live new objects after which the garbage collector runs.
_COLLECTED_AFTER = 20_000


@dataclass(frozen=True, slots=True, kw_only=True)
class RunSession:
    """The options of a session that say how a plan is played, not what is planned."""

    concurrency: int = 32
    retry_failed: bool = False
    replaceable: frozenset[str] = frozenset()
    empty_debates: int | None = None
    max_cost: float | None = None
    max_ambiguous_retries: int = 3
    wait_for_limit: float = 600.0
    wait_for_provider: float = 600.0
    max_failures_in_a_row: int = 5
    is_asking: bool = False
    """Whether a person at a terminal is asked before what may cost money."""
    is_dry: bool = False
    is_timed: bool = False
    """Whether a dry run also estimates the duration."""
    no_build: bool = False
    log_failed_judges: bool = False
    output: Format = Format.TABLE

    def go(
        self, workspace: Workspace, plan: Plan, part: PlanPart | None, transcripts: Transcripts | None = None
    ) -> None:
        """Print what would be done, or do it: play, land, build, report. `transcripts` are those that are judged."""
        _check_replaceable(plan, self.replaceable)
        limit = None if self.max_cost is None else Decimal(str(self.max_cost))
        if not self.is_dry:
            _freeze()
        if self.is_dry or (self.is_asking and run_cost.is_asked()):
            checked = run_cost.rehearsed(
                workspace,
                plan,
                part,
                concurrency=self.concurrency,
                max_cost=limit,
                retry_failed=self.retry_failed,
                replaceable=self.replaceable,
                is_built=not self.no_build,
            )
            if self.is_dry:
                run_cost.print_plan(workspace, checked, self.output)
                if self.is_timed:
                    checking.print_time(workspace, checked.plan, self.concurrency)
                return
            run_cost.confirm(checked)
            # Each catalogue of prices is read once.
            plan, part = checked.rehearsal.ready.plan, checked.rehearsal.ready.part
        self._play(workspace, plan, part, self._settings(limit), transcripts)

    def _settings(self, limit: Decimal | None) -> RunSettings:
        from debatebench.play.retries import RetryPolicy
        from debatebench.play.runner import RunSettings

        return RunSettings(
            concurrency=self.concurrency,
            retry_failed=self.retry_failed,
            replaceable=self.replaceable,
            empty_debates=self.empty_debates,
            policy=RetryPolicy(
                ambiguous=self.max_ambiguous_retries,
                busy_s=self.wait_for_limit,
                unreachable_s=self.wait_for_provider,
                failures_in_a_row=self.max_failures_in_a_row,
            ),
            max_cost=limit,
        )

    def _play(
        self,
        workspace: Workspace,
        plan: Plan,
        part: PlanPart | None,
        settings: RunSettings,
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
        from debatebench.plan.stored_use import StoredUse
        from debatebench.play.progress import Progress
        from debatebench.play.runner import play_run
        from debatebench.warehouse.sources import check_before_run

        whole = plan if part is None else plan.with_part(part)
        progress = Progress(is_simulated=is_all_simulated(whole))
        journal = workspace.journal / f"{plan.run_tag}.jsonl"
        check_before_run(workspace, plan.run_tag, is_built=not self.no_build)
        stored = run_cost.with_stored_use(workspace, plan.run_tag, StoredUse())
        try:
            with watching(plan.run_tag, progress, workspace.progress / f"{plan.run_tag}.json"):
                report = play_run(
                    plan,
                    journal,
                    settings,
                    environ=os.environ,
                    now=now,
                    progress=progress,
                    warn=run_cost.warn,
                    part=part,
                    stored=stored,
                    transcripts=transcripts,
                )
        except DebatebenchError:
            # Without planned debates this session did not begin: another process may be playing the run.
            if progress.debates_planned:
                _try_to_land(workspace, plan.run_tag, self.no_build)
                note_costs(progress, None)
                note_missing(progress, whole)
            raise
        finally:
            if self.log_failed_judges and journal.exists():
                _log_failed_judges(workspace, journal)
        try:
            _land(workspace, plan.run_tag, self.no_build)
            note_cut_speeches(workspace, plan.run_tag)
        finally:
            print_report(report, whole, self.output)
        if report.missing:
            raise RunIncompleteError(
                f"{len(report.missing)} of {report.planned} debates of run '{report.run_tag}' are missing; "
                f"{advice_on_missing(report)}."
            )


def _freeze() -> None:
    """Prepare the garbage collector for a run.

    All objects so far live to the end, so it need not scan them again and again; and the objects of a call are freed
    with it, nearly always without the collector. DuckDB complains at the exit about objects that were never collected,
    so nothing is frozen once it has been used.
    """
    if "duckdb" not in sys.modules:
        gc.freeze()
    gc.set_threshold(_COLLECTED_AFTER)


def _check_replaceable(plan: Plan, ids: Collection[str]) -> None:
    known = {member.id for member in (*plan.debaters, *plan.judges)}
    for id_ in ids:
        if id_ not in known:
            raise UsageError(
                f"--replace-parameters: run '{plan.run_tag}' has no debater or judge '{id_}'. Known: "
                f"{', '.join(sorted(known))}."
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


def _log_failed_judges(workspace: Workspace, journal: Path) -> None:
    """Write every unusable answer of the run's judges so far to a separate file."""
    from debatebench.landing.failed_judges import write_failed_judges

    path = workspace.warehouse / "failed_judges" / f"{journal.stem}.jsonl"
    count = write_failed_judges(journal, path)
    note(f"Wrote {count:,} unusable answers of judges to {path}.")
