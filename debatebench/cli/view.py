"""`debatebench view`."""

from __future__ import annotations

from functools import partial
from typing import Annotated

import typer

from debatebench.cli.common import (
    CompareOption,
    FrontOption,
    NoBrowserOption,
    PortOption,
    TitleOption,
    note,
    now,
    of_run,
    pairs_of,
    say,
    workspace_of,
)
from debatebench.shared.amounts import listed

_MOST_NAMED = 5


def view(
    context: typer.Context,
    run_tag: Annotated[list[str] | None, of_run(help="View only this run. Repeatable. Default: all runs.")] = None,
    compare: CompareOption = None,
    front: FrontOption = None,
    title: TitleOption = None,
    port: PortOption = 0,
    no_browser: NoBrowserOption = False,
) -> None:
    """Read the site in a browser, and follow a run that plays.

    What the site is about is chosen as for `report`, also in reports/site.yml. It is built in a hidden
    folder from what the journals hold now, and again when they grow; the warehouse and reports/site stay as they are.
    The address is printed on one line. Ctrl-C stops the server.
    """
    from debatebench.output.report.choice import Choice
    from debatebench.output.serving.guard import Served
    from debatebench.output.serving.serve import serve
    from debatebench.output.view.app import make_app
    from debatebench.output.view.following import Following
    from debatebench.shared.files import new_folder_beside

    workspace = workspace_of(context)
    with new_folder_beside(workspace.warehouse / "view") as folder:
        following = Following(workspace, folder, Choice(run_tag, pairs_of(compare), title, front), now)
        following.begin()
        for problem in following.state()["problems"]:
            note(f"Warning: {problem}")
        playing = following.playing()
        follows = f"Following {listed(playing, _MOST_NAMED)}. " if playing else ""
        note(f"{follows}Ctrl-C stops the server.")
        served = Served("view", partial(make_app, following, workspace.files("reports", "**/*")))
        with following.followed():
            serve(served, port=port, announce=say, open_browser=not no_browser)
