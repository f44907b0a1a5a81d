"""`debatebench report`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, cast

import typer

from debatebench.cli.common import built_workspace, now, of_run, say
from debatebench.cli.completion import run_tags


def report(
    context: typer.Context,
    run_tag: Annotated[
        list[str] | None, of_run(help="Report only this run. Repeatable. Default: all that are not excluded.")
    ] = None,
    compare: Annotated[
        list[str] | None,
        typer.Option(
            "--compare",
            metavar="BASELINE CANDIDATE",
            help="Compare these two runs or benchmark versions. Repeatable. Default: each run with an older one, like "
            "for like where there is one.",
            autocompletion=run_tags,
        ),
    ] = None,
    front: Annotated[
        str | None,
        typer.Option(
            "--front",
            help="The run on the front page. Default: the run that was pinned last, else the newest tournament.",
            autocompletion=run_tags,
        ),
    ] = None,
    title: Annotated[str | None, typer.Option("--title", help="What the site is called. Default: debatebench.")] = None,
    out_dir: Annotated[
        Path | None, typer.Option("--out-dir", help="Folder for the site. Default: reports/site.")
    ] = None,
) -> None:
    """Render the warehouse as a static HTML site.

    What the site is about can also stand in reports/site.yml: title, runs, front, compare. Options win over the file.
    """
    from debatebench.output.report.folder import MANIFEST
    from debatebench.output.report.site import build_site
    from debatebench.shared.output_paths import check_output_folder

    workspace = built_workspace(context)
    target = out_dir or workspace.reports / "site"
    check_output_folder(workspace, target, mark=MANIFEST)
    # An option of two values, repeated, is a list of pairs, for which typer has no type.
    pairs = cast("list[tuple[str, str]]", compare or [])
    index = build_site(
        workspace.database,
        workspace.files("reports", "**/*"),
        target,
        run_tags=run_tag,
        compare=pairs,
        title=title,
        front=front,
        now=now(),
    )
    say(str(index))
