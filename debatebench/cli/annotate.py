"""`debatebench annotate`."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Annotated

import typer

from debatebench.cli.common import NoBrowserOption, PortOption, note, now, of_run, say, warn, workspace_of
from debatebench.shared.errors import UsageError

if TYPE_CHECKING:
    from debatebench.output.annotation.review import Review


def annotate(
    context: typer.Context,
    run_tag: Annotated[str, of_run(help="The run or import whose debates are annotated.")],
    annotator: Annotated[str, typer.Option("--annotator", help="Your name: letters, digits, '.', '_' and '-'.")],
    port: PortOption = 0,
    no_browser: NoBrowserOption = False,
    overlap: Annotated[
        int | None,
        typer.Option("--overlap", help="With --annotators: how many people annotate each debate. Default: 2."),
    ] = None,
    annotators: Annotated[
        str | None,
        typer.Option(
            "--annotators",
            metavar="NAMES",
            help="Assign the debates to these people, with commas between the names. Default: everyone annotates all.",
        ),
    ] = None,
    revise: Annotated[
        bool, typer.Option("--revise", help="Open the page also if every debate has been annotated.")
    ] = False,
    review: Annotated[
        bool,
        typer.Option("--review", help="Compare annotations, and record the verdict on which people agree."),
    ] = False,
) -> None:
    """Annotate debates in a browser: scores, winner, reasons.

    The address is printed on one line. Everything that the page calls saved is in a journal; Ctrl-C stops the server.
    """
    from debatebench.output.annotation.app import make_app
    from debatebench.output.annotation.review import open_review
    from debatebench.output.annotation.session import Session, open_session
    from debatebench.output.serving.guard import Served
    from debatebench.output.serving.serve import serve

    if overlap is not None and annotators is None:
        raise UsageError("--overlap needs --annotators, the names of the people with commas between them.")
    if review and (annotators is not None or revise):
        raise UsageError("--review cannot be combined with --annotators, --overlap or --revise.")
    workspace = workspace_of(context)
    if review:
        work: Session | Review = open_review(workspace, run_tag, annotator, now=now)
    else:
        names = () if annotators is None else tuple(name.strip() for name in annotators.split(",") if name.strip())
        if annotators is not None and not names:
            raise UsageError("--annotators has no name in it; give the names with commas between them.")
        work = open_session(workspace, run_tag, annotator, now=now, annotators=names, overlap=overlap, revise=revise)
    session = work if isinstance(work, Session) else work.session
    what = "with an agreed verdict" if review else "annotated"
    if session.material.left_out:
        warn(session.material.left_out)
    note(f"{session.progress().words(what)}. Ctrl-C stops the server.")
    try:
        served = Served("annotate", partial(make_app, work), ("GET", "HEAD", "POST"))
        serve(served, port=port, announce=say, open_browser=not no_browser)
    finally:
        note(f"{session.progress().words(what)}; `debatebench land` adds them to the warehouse.")
