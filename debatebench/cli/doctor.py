"""`debatebench doctor`."""

from __future__ import annotations

import shutil
import textwrap
from collections import Counter
from dataclasses import replace
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING, Annotated

import typer

from debatebench.cli.common import FormatOption, note, of_run, print_rows, say, workspace_of
from debatebench.shared.amounts import counted
from debatebench.shared.errors import DamagedDataError
from debatebench.shared.formats import Format

if TYPE_CHECKING:
    from debatebench.shared.workspace import Workspace
    from debatebench.warehouse.journal_findings import Finding


def doctor(
    context: typer.Context,
    run_tag: Annotated[list[str] | None, of_run(help="Check only this run. Repeatable. Default: all runs.")] = None,
    salvage: Annotated[
        bool,
        typer.Option("--salvage", help="Copy the undamaged part of each damaged journal to a new file next to it."),
    ] = False,
    list_all: Annotated[
        bool, typer.Option("--all", help="List every place of a problem. Default: the first one, and their number.")
    ] = False,
    output: FormatOption = Format.TABLE,
) -> None:
    """Report damaged, missing, ambiguous and unlanded data.

    The exit code is 3 if data is damaged.
    """
    from debatebench.journal.shards import journals_of
    from debatebench.landing.annotation_journals import annotations_folder, begun_journals
    from debatebench.warehouse.doctor import examine, grouped
    from debatebench.warehouse.journal_findings import Finding

    workspace = workspace_of(context)
    found = examine(workspace, run_tag)
    if output is Format.TABLE:
        for group in grouped(found):
            _print_group(group, list_all=list_all)
    else:
        shown = found if list_all else [replace(group[0], count=len(group)) for group in grouped(found)]
        print_rows(Finding.columns(), [finding.row() for finding in shown], output)
    _note_counts(workspace, found)
    damaged = [finding for finding in found if finding.is_damage]
    if salvage:
        broken = {finding.run_tag for finding in damaged if finding.finding == "damaged_line"}
        annotated = {finding.run_tag for finding in damaged if finding.finding == "damaged_annotations"}
        folders = [annotations_folder(workspace.journal, tag) for tag in sorted(annotated)]
        _salvage(
            [path for tag in sorted(broken) for path in journals_of(workspace.journal, tag)],
            [path for folder in folders for path in begun_journals(folder)],
        )
    if damaged:
        raise DamagedDataError(f"Data is damaged in {counted(len(damaged), 'place')}; the first is {damaged[0].place}.")


def _print_group(group: list[Finding], *, list_all: bool) -> None:
    """Print one problem: what it is, and where. A table would have to cut both on most terminals."""
    first = group[0]
    width = shutil.get_terminal_size().columns
    damage = ", damage" if first.is_damage else ""
    say(f"{first.run_tag or 'workspace'}: {len(group):,} {first.finding}{damage}")
    # Paths and commands are not broken, so that they can be copied.
    for line in textwrap.wrap(first.detail, width - 2, break_long_words=False, break_on_hyphens=False):
        say(f"  {line}")
    for finding in group if list_all else group[:1]:
        say(f"  at {finding.place}")
    if len(group) > 1 and not list_all:
        say(f"  and {len(group) - 1:,} more; --all lists them")


def _note_counts(workspace: Workspace, found: list[Finding]) -> None:
    """Print how much was found, or that there is nothing to be examined yet."""
    from debatebench.warehouse.doctor import has_runs

    counts = Counter(finding.finding for finding in found)
    if found:
        note(", ".join(f"{count:,} {name}" for name, count in sorted(counts.items())))
    if counts.keys() <= {"leftover"} and not has_runs(workspace):
        note(
            "There is no run in this workspace yet: `debatebench run` plays one, and `debatebench import` imports one."
        )
    elif not found:
        note("No problems were found.")


def _salvage(journals: list[Path], annotated: list[Path]) -> None:
    """Save what can be saved, and say what to do with it."""
    from debatebench.journal.reading import run_of
    from debatebench.warehouse.salvage import salvage

    for journal in (*journals, *annotated):
        saved = salvage(journal)
        if saved is None:
            continue
        note(
            f"{saved.events:,} events of {journal} were saved to {saved.target}, {saved.lost:,} are lost. To continue:"
        )
        kept, damaged, salvaged = (quote(str(path)) for path in (journal, f"{journal}.damaged", saved.target))
        tag = quote(run_of(journal) if journal in journals else journal.parent.name.removesuffix(".annotations"))
        note(f"  mv {kept} {damaged} && mv {salvaged} {kept} && debatebench land --run-tag {tag} --replace")
        if journal in annotated:
            continue
        note(f"  debatebench run --run-tag {tag} …   (with the same arguments as before; it repeats the lost calls)")
    if not journals and not annotated:
        note("No journal has a damaged line, so there is nothing to salvage.")
