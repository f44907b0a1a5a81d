"""`debatebench report`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from debatebench.cli.common import built_workspace, now, of_run, say


def report(
    context: typer.Context,
    run_tag: Annotated[list[str] | None, of_run(help="Report only this run. Repeatable. Default: all runs.")] = None,
    out_dir: Annotated[
        Path | None, typer.Option("--out-dir", help="Folder for the site. Default: reports/site.")
    ] = None,
) -> None:
    """Render the warehouse as a static HTML site."""
    from debatebench.output.report.folder import MANIFEST
    from debatebench.output.report.site import build_site
    from debatebench.shared.output_paths import check_output_folder

    workspace = built_workspace(context)
    target = out_dir or workspace.reports / "site"
    check_output_folder(workspace, target, mark=MANIFEST)
    index = build_site(
        workspace.database,
        workspace.files("reports", "**/*"),
        target,
        run_tags=run_tag,
        now=now(),
    )
    say(str(index))
