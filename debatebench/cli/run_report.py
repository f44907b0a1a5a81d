"""The report on a session of a run: what is complete, what is missing and why, and the cost compared with the plan."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from debatebench.cli.common import Format, note, print_rows

if TYPE_CHECKING:
    from pathlib import Path

    from debatebench.plan.cost_estimate import CostEstimate
    from debatebench.play.budget import Spending
    from debatebench.play.progress import Progress
    from debatebench.play.runner import RunReport

__all__ = ["note_costs", "note_costs_so_far", "note_missing", "print_report"]

_MOST_REASONS = 20


def print_report(report: RunReport, output: Format) -> None:
    """Print how the run ended, and what is missing. Counts are of this session, sums of money of the whole run."""
    progress = report.progress
    spent = progress.ledger.total
    row: dict[str, Any] = {
        "run_tag": report.run_tag,
        "planned": report.planned,
        "complete": report.complete,
        "void": len(report.void),
        "missing": len(report.missing),
        "answered_calls": progress.calls_answered,
        "failed_attempts": progress.calls_failed,
        "billed_usd": spent.billed,
        "estimated_usd": spent.estimated,
        "unknown_attempts": spent.unknown,
        "possible_usd": _possible(spent),
        "planned_usd": report.estimate.cost_usd,
    }
    print_rows(list(row), [list(row.values())], output)
    note_costs(progress, report.estimate)
    if report.ambiguous_calls:
        note(f"{report.ambiguous_calls} calls were in flight when a session ended; they may have been billed twice.")
    if report.adjusted:
        models = (f"{model} of {provider} ({', '.join(fields)})" for provider, model, fields in report.adjusted)
        note(f"Sent without optional fields that the server refuses, or under another name: {'; '.join(models)}.")
    note_missing(progress)


def _possible(spent: Spending) -> Any:
    """The most that the attempts of unknown cost can have cost; unknown if one of them has no upper bound."""
    return None if spent.unbounded else spent.possible


def note_costs(progress: Progress, expected: CostEstimate | None) -> None:
    """Print what the whole run has cost so far, and how that compares with the estimate."""
    spent = progress.ledger.total
    note(f"Cost so far: {spent.summary()}")
    if expected is None or expected.cost_usd is None:
        return
    share = f", of which {spent.known / expected.cost_usd:.0%} is spent" if expected.cost_usd else ""
    part = f"; not included: {', '.join(expected.unpriced)}" if expected.unpriced else ""
    note(f"The estimate for the whole plan was about {expected.cost_usd:.4f} USD{share}{part}.")


def note_costs_so_far(journal: Path) -> None:
    """Print what a run has cost so far, to compare with the plan; nothing if it has not begun."""
    from debatebench.journal.events import pass_on
    from debatebench.journal.reading import has_begun, read_journal
    from debatebench.play.resume import Resume

    if not journal.exists() or not has_begun(journal):
        return
    resume = Resume()
    for event in read_journal(journal):
        pass_on(journal, event, resume.see)
    note(f"This run has begun: {len(resume.complete_debates):,} debates are complete.")
    note(f"Cost so far: {resume.ledger.total.summary()}")


def note_missing(progress: Progress) -> None:
    """Print which debates are void or missing and why; if there are many, only the first ones."""
    for what, debates in (("void", progress.void), ("missing", progress.missing)):
        for debate_id, reason in debates[:_MOST_REASONS]:
            note(f"{what} {debate_id}: {reason}")
        if len(debates) > _MOST_REASONS:
            note(f"… and {len(debates) - _MOST_REASONS} more; `debatebench doctor` lists them all.")
