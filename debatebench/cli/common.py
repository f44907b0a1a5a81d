"""What several commands share: the workspace, the clock, the output format, and every way to print.

Commands print only through these functions, because names, errors and answers are hostile text: all of it is made
visible here, and JSON has escapes.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from enum import StrEnum
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, cast

import typer

from debatebench.cli.activity_display import make_room
from debatebench.cli.completion import run_tags
from debatebench.shared.amounts import did_you_mean
from debatebench.shared.errors import DebatebenchError, UsageError
from debatebench.shared.formats import FORMATS, SHORT_NAMES, Format
from debatebench.shared.visible_text import visible

if TYPE_CHECKING:
    import duckdb

    from debatebench.shared.workspace import Workspace


def format_option(*more: Format, help: str = "How to print the result.") -> Any:
    """The option that names a format: one of `FORMATS` or of `more`, also by its short name."""
    names = (*FORMATS, *more)

    def parse(text: str) -> Format:
        name = SHORT_NAMES.get(text, text)
        if name not in names:
            raise typer.BadParameter(f"'{text}' is not one of {', '.join(names)}.{did_you_mean(text, names)}")
        return Format(name)

    def complete(incomplete: str) -> list[str]:
        return [name for name in names if name.startswith(incomplete)]

    return typer.Option("--format", parser=parse, metavar=f"[{'|'.join(names)}]", autocompletion=complete, help=help)


FormatOption = Annotated[Format, format_option()]
PortOption = Annotated[int, typer.Option("--port", help="The port on this computer. Default: any free one.")]
NoBrowserOption = Annotated[bool, typer.Option("--no-browser", help="Only print the address; do not open a browser.")]
of_run = partial(typer.Option, "--run-tag", autocompletion=run_tags)
"""The option that names a run; `help` says what becomes of it."""
RunTagsOption = Annotated[
    list[str] | None,
    of_run(
        help="Repeatable. Default: the pinned run, else the one that landed last; neither an excluded run nor one that "
        "judges stored debates."
    ),
]
CompareOption = Annotated[
    list[str] | None,
    typer.Option(
        "--compare",
        metavar="BASELINE CANDIDATE",
        help="Compare these two runs or benchmark versions. Repeatable. Default: each run with an older one, like for "
        "like where there is one.",
        autocompletion=run_tags,
    ),
]
FrontOption = Annotated[
    str | None,
    typer.Option(
        "--front",
        help="The run on the front page. Default: the run that was pinned last, else the newest tournament.",
        autocompletion=run_tags,
    ),
]
TitleOption = Annotated[str | None, typer.Option("--title", help="What the site is called. Default: debatebench.")]


def pairs_of(compare: list[str] | None) -> list[tuple[str, str]]:
    """The pairs of `CompareOption`: typer has no type for a repeated option of two values."""
    return cast("list[tuple[str, str]]", compare or [])


class Engine(StrEnum):
    """What computes the SQL models."""

    DUCKDB = "duckdb"
    SPARK = "spark"


EngineOption = Annotated[
    Engine, typer.Option("--engine", help="duckdb works in the warehouse, spark on --target; see docs/spark.md.")
]
MasterOption = Annotated[
    str | None,
    typer.Option(
        "--master",
        metavar="URL",
        help="With --engine spark: local[2], spark://HOST:PORT or sc://HOST. Default: as Spark is configured.",
    ),
]
TargetOption = Annotated[
    str | None,
    typer.Option("--target", metavar="URL", help="With --engine spark: the folder of the tables of the SQL models."),
]


def address(text: str) -> str:
    """A path as an absolute one, because Spark may run in another folder; any other address as it is."""
    return text if re.match(r"[a-zA-Z][\w+.-]*:/", text) else str(Path(text).resolve())


def only_on_spark(given: Mapping[str, object]) -> None:
    """Refuse the first of these options (name → value) that was given, because another engine has no use for it."""
    if alone := next((option for option, value in given.items() if value is not None), None):
        raise UsageError(f"{alone} needs --engine spark.")


def workspace_of(context: typer.Context) -> Workspace:
    """The workspace that `--root` names."""
    from debatebench.shared.workspace import Workspace

    root: Path = context.obj
    return Workspace(root)


def built_workspace(context: typer.Context, *, needs_models: bool = True) -> Workspace:
    """The workspace for a command that reads its warehouse: a warehouse that does not fit its SQL models is noted.

    Raises `UsageError` if SQL models are missing that the command may read.
    """
    from debatebench.warehouse.up_to_date import check_fits

    workspace = workspace_of(context)
    check_fits(workspace, note, needs_models=needs_models)
    return workspace


def why_unread(workspace: Workspace, problem: DebatebenchError) -> DebatebenchError:
    """Why the warehouse could not be read: it does not fit the SQL models of this version, else `problem`."""
    from debatebench.warehouse.up_to_date import check_fits

    try:
        check_fits(workspace, lambda _: None)
    except DebatebenchError as unfit:
        return unfit
    return problem


def chosen_runs(con: duckdb.DuckDBPyConnection, run_tags: Sequence[str] | None) -> list[str]:
    """The runs that a command means: each of `run_tags` once, else the pinned or the last one, which is then named."""
    from debatebench.query.run_tags import is_pinned, pick_run_tag

    if run_tags:
        return [pick_run_tag(con, run_tag) for run_tag in dict.fromkeys(run_tags)]
    chosen = pick_run_tag(con, None)
    why = "is pinned" if is_pinned(con, chosen) else "landed last"
    note(f"Run '{chosen}' {why}; `--run-tag` names another.")
    return [chosen]


def now() -> datetime:
    """The time as records hold it: naive UTC."""
    return datetime.now(UTC).replace(tzinfo=None)


def note(text: str) -> None:
    """Print a line that is not part of the result on stderr; if stderr is closed, work continues."""
    make_room()
    with suppress(OSError):
        print(visible(text), file=sys.stderr, flush=True)


def warn(text: str) -> None:
    """Print a warning on stderr."""
    note(f"Warning: {text}")


def ask(question: str) -> str:
    """Ask a person at the terminal on stderr, and return the line that is typed; empty at the end of the input."""
    make_room()
    print(visible(question), end="", file=sys.stderr, flush=True)
    return sys.stdin.readline()


def note_error(error: DebatebenchError) -> None:
    """Print an error on one line of stderr, and its details on lines below it."""
    note(f"Error: {error.message}")
    for detail in error.details:
        note(f"  {detail}")


def say(text: str, output: Format = Format.TABLE, *, keep_lines: bool = False) -> None:
    """Print a line of the result on stdout; with `keep_lines`, a text of several lines."""
    if output is Format.MARKDOWN:
        from debatebench.shared.markdown import markdown_block, markdown_text

        shown = markdown_block(text) if keep_lines else markdown_text(text)
    elif output is Format.LATEX:
        from debatebench.shared.latex import latex_text

        # An empty line ends a paragraph.
        shown = "\n\n".join(map(latex_text, text.split("\n"))) if keep_lines else latex_text(text)
    else:
        shown = visible(text, keep_lines=keep_lines)
    make_room()
    # typer's own echo writes UTF-8 also where the terminal has another encoding.
    print(shown, end="" if shown.endswith("\n") else "\n", flush=True)


def print_caption(text: str, output: Format) -> None:
    """Print a caption for the next table; in a document an empty line follows it."""
    say("")
    say(text, output)
    if output in (Format.MARKDOWN, Format.LATEX):
        say("")


def print_json(value: Any) -> None:
    """Print an object on stdout as JSON."""
    from debatebench.shared.result_formats import json_text

    say(json_text(value, indent=2), keep_lines=True)


def print_rows(columns: Sequence[str], rows: Sequence[Sequence[Any]], output: Format) -> None:
    """Print a result on stdout."""
    from debatebench.shared.result_formats import print_table

    make_room()
    print_table(columns, rows, output.value)


def print_records(columns: Sequence[str], records: Iterable[object], output: Format) -> None:
    """Print a result on stdout, of which each row is a record with these attributes."""
    print_rows(columns, [[getattr(record, name) for name in columns] for record in records], output)


def stated_options(context: typer.Context) -> dict[str, str]:
    """The options that the command line states: name → as it is written, such as `--no-balanced-sides`."""
    found = {}
    for option in context.command.params:
        source = context.get_parameter_source(option.name or "")
        if option.name is not None and source is not None and source.name == "COMMANDLINE":
            is_off = context.params[option.name] is False
            found[option.name] = (option.secondary_opts if is_off else option.opts)[0]
    return found
