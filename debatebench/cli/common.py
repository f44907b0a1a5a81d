"""What several commands share: the workspace, the clock, the output format, and notes to the reader."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from contextlib import suppress
from datetime import UTC, datetime
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from debatebench.shared.workspace import Workspace

__all__ = ["Format", "FormatOption", "note", "now", "print_caption", "print_rows", "workspace_of"]


class Format(StrEnum):
    """How a result is printed."""

    TABLE = "table"
    JSON = "json"
    CSV = "csv"
    MARKDOWN = "markdown"


FormatOption = Annotated[Format, typer.Option("--format", help="How to print the result.")]


def workspace_of(context: typer.Context) -> Workspace:
    """The workspace that `--root` names."""
    from debatebench.shared.workspace import Workspace

    root: Path = context.obj
    return Workspace(root)


def now() -> datetime:
    """The time as records hold it: naive UTC."""
    return datetime.now(UTC).replace(tzinfo=None)


def note(text: str) -> None:
    """Print a line that is not part of the result on stderr; if stderr is closed, work continues."""
    with suppress(OSError):
        print(text, file=sys.stderr, flush=True)


def print_caption(text: str, output: Format) -> None:
    """Print a caption for the next table; in Markdown an empty line follows it."""
    typer.echo(f"\n{text}\n" if output is Format.MARKDOWN else f"\n{text}")


def print_rows(columns: Sequence[str], rows: Sequence[Sequence[Any]], output: Format) -> None:
    """Print a result on stdout."""
    from debatebench.shared.result_formats import print_table

    print_table(columns, rows, output.value)
