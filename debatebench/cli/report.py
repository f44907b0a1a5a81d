"""`debatebench report`."""

from __future__ import annotations

import os
from collections.abc import Mapping
from contextlib import closing
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from debatebench.cli.common import (
    CompareOption,
    FrontOption,
    TitleOption,
    built_workspace,
    chosen_runs,
    of_run,
    pairs_of,
    say,
    stated_options,
)
from debatebench.cli.garbage import collect_rarely
from debatebench.shared.amounts import counted
from debatebench.shared.errors import DebatebenchError, UsageError

if TYPE_CHECKING:
    from debatebench.shared.workspace import Workspace


_MOST_DIFFERENCES = 50
_OF_FRAGMENTS = ("fragment", "run_tag", "out_dir")
"""The parameters of `report` that a fragment uses."""


class Fragment(StrEnum):
    """A part of the site for other documents."""

    LEADERBOARD = "leaderboard"


def report(
    context: typer.Context,
    run_tag: Annotated[
        list[str] | None, of_run(help="Report only this run. Repeatable. Default: all that are not excluded.")
    ] = None,
    compare: CompareOption = None,
    front: FrontOption = None,
    title: TitleOption = None,
    out_dir: Annotated[
        Path | None, typer.Option("--out-dir", help="Folder for the site. Default: reports/site.")
    ] = None,
    with_calls: Annotated[
        bool,
        typer.Option(
            "--with-calls",
            help="Put the facts of each request and its raw reply, from journals and imports, into the page of debates "
            "(no keys or headers). The site grows by about a third of the size of the journals.",
        ),
    ] = False,
    downloads: Annotated[
        bool,
        typer.Option("--downloads", help="Add every mart as CSV and as Parquet; the page Data leads to the files."),
    ] = False,
    fragment: Annotated[
        Fragment | None,
        typer.Option(
            "--fragment",
            help="Write only the leaderboard of one run, to put into other documents: HTML without scripts, SVG and "
            "Markdown. Default folder: reports/fragments.",
        ),
    ] = None,
    sql_console: Annotated[
        bool,
        typer.Option(
            "--sql-console",
            help="Add a page on which readers query the marts in SQL, in their browser and also from a folder. It adds "
            "11 MB of DuckDB, and the marts.",
        ),
    ] = False,
    duckdb_wasm: Annotated[
        Path | None,
        typer.Option(
            "--duckdb-wasm",
            help="With --sql-console: the folder into which npm has installed DuckDB-WASM. Default: the workspace, or "
            "the current folder.",
        ),
    ] = None,
    check: Annotated[
        Path | None,
        typer.Option(
            "--check",
            metavar="DIR",
            help="Write nothing, but compare the site in this folder with the warehouse, and fail if they differ.",
        ),
    ] = None,
) -> None:
    """Render the warehouse as a static HTML site.

    What the site is about can also stand in reports/site.yml: title, runs, front, compare. Options win over the file.
    """
    _refuse_unused(stated_options(context))
    if check is not None:
        _check(built_workspace(context), check)
        return
    if duckdb_wasm is not None and not sql_console:
        raise UsageError("--duckdb-wasm needs --sql-console.")
    if fragment is not None:
        _write_fragments(built_workspace(context), run_tag, out_dir)
        return
    # Rows of debates, of which there are many, and none refers to itself.
    collect_rarely()
    from debatebench.output.report.console import find_wasm
    from debatebench.output.report.folder import MARKS
    from debatebench.output.report.page_time import chosen_time
    from debatebench.output.report.site import build_site
    from debatebench.shared.output_paths import check_output_folder

    workspace = built_workspace(context)
    target = out_dir or workspace.reports / "site"
    check_output_folder(workspace, target, marks=MARKS)
    places = [duckdb_wasm] if duckdb_wasm is not None else list(dict.fromkeys([workspace.root, Path()]))
    wasm = find_wasm(places) if sql_console else None
    index = build_site(
        workspace.database,
        workspace.files("reports", "**/*"),
        target,
        run_tags=run_tag,
        compare=pairs_of(compare),
        title=title,
        front=front,
        journals=workspace.journal if with_calls else None,
        has_downloads=downloads,
        wasm=wasm,
        now=chosen_time(os.environ),
    )
    say(str(index))


def _refuse_unused(given: Mapping[str, str]) -> None:
    """Raise `UsageError` for options beside --check or --fragment that these do not use; `given` are those written."""
    if "check" in given and (others := [option for name, option in given.items() if name != "check"]):
        raise UsageError(f"--check reads from the site what it is about; leave out {others[0]}.")
    others = [option for name, option in given.items() if name not in _OF_FRAGMENTS]
    if "fragment" in given and others:
        raise UsageError(f"--fragment cannot be combined with {others[0]}.")


def _check(workspace: Workspace, folder: Path) -> None:
    """Compare a site with the warehouse; raises `DebatebenchError` with what differs."""
    from debatebench.output.report.check import check_site
    from debatebench.output.report.page_time import chosen_time

    found = check_site(
        workspace.database,
        workspace.files("reports", "**/*"),
        folder,
        journals=workspace.journal,
        now=chosen_time(os.environ),
    )
    count = len(found.differences)
    if count:
        rest = [f"and {count - _MOST_DIFFERENCES:,} more"] if count > _MOST_DIFFERENCES else []
        raise DebatebenchError(
            f"{folder} is not what the warehouse gives: {counted(count, 'difference')}.",
            [*found.reasons, *found.differences[:_MOST_DIFFERENCES], *rest],
        )
    say(f"{folder} is what the warehouse gives: {counted(found.count_files, 'file')}.")


def _write_fragments(workspace: Workspace, run_tag: list[str] | None, out_dir: Path | None) -> None:
    from debatebench.output.report.fragments import FRAGMENT_FILES, leaderboard_fragments
    from debatebench.query.one_debate import check_marts
    from debatebench.query.safe_query import open_for_query
    from debatebench.shared.files import not_written, write_atomically
    from debatebench.shared.output_paths import check_output_folder

    target = out_dir or workspace.reports / "fragments"
    check_output_folder(workspace, target, FRAGMENT_FILES)
    with closing(open_for_query(workspace.database)) as con:
        run_tags = chosen_runs(con, run_tag)
        check_marts(con)
        if len(run_tags) > 1:
            raise UsageError("A leaderboard is that of one run; give one --run-tag.")
        texts = leaderboard_fragments(con, run_tags[0])
    for name, text in texts.items():
        try:
            write_atomically(target / name, text)
        except OSError as error:
            raise not_written(target, error) from error
        say(str(target / name))
