"""`debatebench doctor`."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from shlex import quote
from typing import Annotated

import typer

from debatebench.cli.common import Format, FormatOption, note, print_rows, workspace_of
from debatebench.shared.errors import DamagedDataError

__all__ = ["doctor"]


def doctor(
    context: typer.Context,
    run_tag: Annotated[str | None, typer.Option("--run-tag", help="Check only this run. Default: all runs.")] = None,
    salvage: Annotated[
        bool,
        typer.Option("--salvage", help="Copy the undamaged part of each damaged journal to a new file next to it."),
    ] = False,
    output: FormatOption = Format.TABLE,
) -> None:
    """Report damaged, missing, ambiguous and unlanded data.

    The exit code is 3 if data is damaged.
    """
    from debatebench.warehouse.doctor import Finding, examine

    workspace = workspace_of(context)
    found = examine(workspace, run_tag)
    if found or output is not Format.TABLE:
        print_rows(Finding.columns(), [finding.row() for finding in found], output)
    counts = Counter(finding.finding for finding in found)
    note(", ".join(f"{count:,} {name}" for name, count in sorted(counts.items())) or "No problems were found.")
    damaged = [finding for finding in found if finding.is_damage]
    if salvage:
        broken = {finding.run_tag for finding in damaged if finding.finding == "damaged_line"}
        _salvage([workspace.journal / f"{tag}.jsonl" for tag in sorted(broken)])
    if damaged:
        raise DamagedDataError(f"Data is damaged in {len(damaged):,} places; the first is {damaged[0].place}.")


def _salvage(journals: list[Path]) -> None:
    """Save what can be saved, and say what to do with it."""
    from debatebench.warehouse.salvage import salvage

    for journal in journals:
        saved = salvage(journal)
        if saved is None:
            continue
        note(
            f"{saved.events:,} events of {journal} were saved to {saved.target}, {saved.lost:,} are lost. To continue:"
        )
        kept, damaged, salvaged = (quote(str(path)) for path in (journal, f"{journal}.damaged", saved.target))
        tag = quote(journal.stem)
        note(f"  mv {kept} {damaged} && mv {salvaged} {kept} && debatebench land --run-tag {tag} --replace")
        note(f"  debatebench run --run-tag {tag} …   (with the same arguments as before; it repeats the lost calls)")
    if not journals:
        note("No journal has a damaged line, so there is nothing to salvage.")
