"""`debatebench plot`."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import closing
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from debatebench.cli.common import RunTagsOption, built_workspace, chosen_runs, note, say

if TYPE_CHECKING:
    from debatebench.output.report.pictures import PictureFormat
    from debatebench.output.report.plots import Plot


class PlotFormat(StrEnum):
    """The format of a picture."""

    SVG = "svg"
    PDF = "pdf"
    PNG = "png"


def plot(
    context: typer.Context,
    run_tag: RunTagsOption = None,
    out_dir: Annotated[
        Path | None,
        typer.Option(
            "--out-dir", help="Folder for the plots; of several runs, for a folder each. Default: warehouse/plots/TAG."
        ),
    ] = None,
    formats: Annotated[
        list[PlotFormat] | None, typer.Option("--format", help="Only this format. Repeatable. Default: all three.")
    ] = None,
    select: Annotated[
        list[str] | None,
        typer.Option("--select", help="Only this plot, such as leaderboard. Repeatable. Default: all plots."),
    ] = None,
) -> None:
    """Draw a run's leaderboard and statistics as pictures.

    SVG, PDF and PNG for papers and READMEs, each with its SQL beside it. Chromium or Chrome draws them.
    """
    from debatebench.output.report.pictures import find_browser
    from debatebench.output.report.plots import PLOTLY, light_theme, load_plots, plot_files, plots_of_run
    from debatebench.query.one_debate import check_marts
    from debatebench.query.safe_query import open_for_query
    from debatebench.shared.output_paths import check_output_folder
    from debatebench.shared.workspace import check_run_tag

    workspace = built_workspace(context)
    files = workspace.files("reports", "**/*")
    sections, theme = load_plots(files, select), light_theme(files)
    find_browser()
    with closing(open_for_query(workspace.database)) as con:
        run_tags = chosen_runs(con, run_tag)
        check_marts(con)
        base = out_dir or workspace.warehouse / "plots"
        targets = {
            tag: base if out_dir is not None and len(run_tags) == 1 else base / check_run_tag(tag) for tag in run_tags
        }
        every = load_plots(files)
        for target in targets.values():
            check_output_folder(workspace, target, plot_files(every))
        drawn = {tag: plots_of_run(con, sections, theme, tag) for tag in run_tags}
    for tag, plots in drawn.items():
        _write(targets[tag], tag, plots, [each.value for each in formats or PlotFormat], files[PLOTLY])


def _write(folder: Path, run_tag: str, plots: Sequence[Plot], formats: Sequence[PictureFormat], script: Path) -> None:
    """Write the pictures of a run and their SQL, and say which plots have nothing to draw."""
    from debatebench.output.report.plots import write_plots

    for path in write_plots(folder, plots, formats, script):
        say(str(path))
    for each in plots:
        if each.spec is None:
            note(f"Run '{run_tag}' has no plot '{each.name}': {each.empty}")
