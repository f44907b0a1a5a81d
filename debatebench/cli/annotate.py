"""`debatebench annotate`."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from debatebench.cli.common import (
    NoBrowserOption,
    PortOption,
    note,
    now,
    of_run,
    say,
    stated_options,
    warn,
    workspace_of,
)
from debatebench.shared.amounts import counted
from debatebench.shared.errors import UsageError

if TYPE_CHECKING:
    from debatebench.output.annotation.review import Review
    from debatebench.output.annotation.session import Session
    from debatebench.shared.workspace import Workspace

NAMES = "NAMES"
_OF_PAGE = ("port", "no_browser", "revise", "review")
"""The parameters of `annotate` that are about the page."""


def annotate(
    context: typer.Context,
    run_tag: Annotated[str, of_run(help="The run or import whose debates are annotated.")],
    annotator: Annotated[
        str | None, typer.Option("--annotator", help="Your name: letters, digits, '.', '_' and '-'.")
    ] = None,
    port: PortOption = 0,
    no_browser: NoBrowserOption = False,
    overlap: Annotated[
        int | None,
        typer.Option(
            "--overlap", help="With people to assign: how many annotate each debate. Default: 2, then as before."
        ),
    ] = None,
    annotators: Annotated[
        str | None,
        typer.Option(
            "--annotators",
            metavar=NAMES,
            help="Assign the debates to these people, with commas between the names. Default: everyone annotates all.",
        ),
    ] = None,
    assign: Annotated[
        str | None,
        typer.Option("--assign", metavar=NAMES, help="Assign debates that were not begun to these people too."),
    ] = None,
    unassign: Annotated[
        str | None,
        typer.Option(
            "--unassign", metavar=NAMES, help="Give what these people have not begun to the others; the rest stays."
        ),
    ] = None,
    status: Annotated[
        bool, typer.Option("--status", help="Print who has which number of debates, and how many are done.")
    ] = False,
    merge: Annotated[
        Path | None,
        typer.Option(
            "--merge", metavar="FILE", help="Add your forms from another computer: your journal in its workspace."
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
    team = {"--annotators": annotators, "--assign": assign, "--unassign": unassign}
    given = [option for option, names in team.items() if names is not None]
    if annotators is not None and len(given) > 1:
        raise UsageError("--annotators names everyone; give it without --assign and --unassign.")
    if overlap is not None and not given:
        raise UsageError("--overlap needs --annotators, the names of the people with commas between them.")
    if review and (given or revise or status):
        raise UsageError("--review cannot be combined with --annotators, --overlap or --revise, nor with --status.")
    if annotator is None and not given and not status:
        raise UsageError("Whose annotations? Give --annotator and a name; --status prints who has annotated.")
    if merge is not None and (annotator is None or status):
        raise UsageError("--merge needs --annotator, whose forms they are, and cannot be combined with --status.")
    whose_page = None if status else annotator
    written = stated_options(context)
    if whose_page is None and (unused := [written[name] for name in _OF_PAGE if name in written]):
        without = "with --status" if status else "without --annotator"
        raise UsageError(f"{unused[0]} is about the page, which does not open {without}; leave it out.")
    workspace = workspace_of(context)
    if given:
        _change_team(workspace, run_tag, {option: _names(option, team[option]) for option in given}, overlap)
    if status:
        _print_status(workspace, run_tag)
    if whose_page is not None:
        work = _open_work(workspace, run_tag, whose_page, review=review, revise=revise, merge=merge)
        _serve(work, port=port, open_browser=not no_browser)


def _names(option: str, value: str | None) -> tuple[str, ...]:
    names = tuple(name.strip() for name in (value or "").split(",") if name.strip())
    if not names:
        raise UsageError(f"{option} has no name in it; give the names with commas between them.")
    return names


def _change_team(workspace: Workspace, run_tag: str, names: dict[str, tuple[str, ...]], overlap: int | None) -> None:
    from debatebench.output.annotation.assignments import change_team, left_out_in_words, open_team

    moved = change_team(
        workspace,
        run_tag,
        annotators=names.get("--annotators", ()),
        joining=names.get("--assign", ()),
        leaving=names.get("--unassign", ()),
        overlap=overlap,
    )
    note(f"{moved}; what was begun or handed in stays with its person.")
    if left_out := left_out_in_words(open_team(workspace, run_tag)):
        warn(left_out)


def _print_status(workspace: Workspace, run_tag: str) -> None:
    from debatebench.output.annotation.assignments import open_team, team_status

    people = team_status(open_team(workspace, run_tag))
    if not people:
        say(f"Nobody has annotated run '{run_tag}', and it is assigned to nobody.")
    for each in people:
        leaving = "; gets no further debates" if each.is_leaving else ""
        say(
            f"{each.name}: {counted(each.debates, 'debate')}, {each.done:,} done, "
            f"{each.changed:,} changed and not handed in, {each.begun:,} begun, {each.open:,} open{leaving}"
        )


def _open_work(
    workspace: Workspace, run_tag: str, annotator: str, *, review: bool, revise: bool, merge: Path | None
) -> Session | Review:
    from debatebench.output.annotation.merging import merge_forms
    from debatebench.output.annotation.review import open_review
    from debatebench.output.annotation.session import Session, open_session

    if review:
        work: Session | Review = open_review(workspace, run_tag, annotator, now=now)
    else:
        work = open_session(workspace, run_tag, annotator, now=now, revise=revise or merge is not None)
    if merge is not None:
        note(f"{merge_forms(work if isinstance(work, Session) else work.session, merge)}.")
    return work


def _serve(work: Session | Review, *, port: int, open_browser: bool) -> None:
    from debatebench.output.annotation.app import make_app
    from debatebench.output.annotation.session import Session
    from debatebench.output.serving.guard import Served
    from debatebench.output.serving.serve import serve

    session = work if isinstance(work, Session) else work.session
    what = "annotated" if isinstance(work, Session) else "reviewed"
    if session.material.left_out:
        warn(session.material.left_out)
    note(f"{session.progress().words(what)}. Ctrl-C stops the server.")
    try:
        served = Served("annotate", partial(make_app, work), ("GET", "HEAD", "POST"))
        serve(served, port=port, announce=say, open_browser=open_browser)
    finally:
        note(f"{session.progress().words(what)}; `debatebench land` adds them to the warehouse.")
