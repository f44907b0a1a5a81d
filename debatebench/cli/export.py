"""`debatebench export`."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from debatebench.cli.common import note, now, of_run, say, workspace_of
from debatebench.shared.amounts import counted

if TYPE_CHECKING:
    from debatebench.output.export.manifest import LeftOut

_MOST_NAMES = 5


class ExportFormat(StrEnum):
    """The format of an export."""

    PARQUET = "parquet"
    JSONL = "jsonl"
    DUCKDB = "duckdb"
    DBT = "dbt"
    HUGGINGFACE = "huggingface"
    DEBATEFLOW = "debateflow"
    DEBATEFLOW_KEYED = "debateflow-keyed"


def export(
    context: typer.Context,
    format_name: Annotated[ExportFormat, typer.Option("--format", help="The format of the export.")],
    out_dir: Annotated[
        Path, typer.Option("--out-dir", help="Folder for the export. It is created complete or not at all.")
    ],
    run_tag: Annotated[
        list[str] | None,
        of_run(help="Export only this run. Repeatable. Default: all runs."),
    ] = None,
    select: Annotated[
        list[str] | None,
        typer.Option(
            "--select",
            help="Tables of a Parquet export, as for `build`, or raw.NAME. Default: marts.*, original.* and ratings.*",
        ),
    ] = None,
    license_id: Annotated[
        str | None,
        typer.Option("--license", help="The licence of a dataset for Hugging Face, such as cc-by-4.0; it needs one."),
    ] = None,
    anonymize: Annotated[
        bool, typer.Option("--anonymize", help="Replace the names of annotators in a dataset for Hugging Face.")
    ] = False,
    with_attacked: Annotated[
        bool, typer.Option("--with-attacked", help="Add attacked copies of debates to a dataset for Hugging Face.")
    ] = False,
    force: Annotated[bool, typer.Option("--force", help="Replace an existing export in the folder.")] = False,
) -> None:
    """Write runs as files that other tools read.

    Parquet, JSONL, DuckDB, a dbt project, a dataset for Hugging Face, or DebateFlow's JSON.
    """
    from debatebench.output.export import export as write_export
    from debatebench.output.export.snapshot import DatasetOptions

    options = DatasetOptions(license_id, anonymize, with_attacked)

    done = write_export(
        workspace_of(context),
        format_name.value,
        out_dir,
        run_tags=run_tag,
        select=select,
        force=force,
        now=now(),
        dataset=None if options == DatasetOptions() else options,
    )
    for part in done.manifest.left_out:
        note(f"Left out: {_described(part)}")
    if done.to_read is not None:
        note(f"Read {done.to_read} before you publish: {done.count_to_read:,} words may still show who wrote a text.")
    runs = len(done.manifest.run_tags)
    say(f"Exported {counted(runs, 'run')} as {counted(len(done.manifest.files), 'file')} to {done.folder}")


def _described(part: LeftOut) -> str:
    """One line about what was left out; the manifest has all names."""
    names = ", ".join(part.names[:_MOST_NAMES]) + (", …" if len(part.names) > _MOST_NAMES else "")
    of = f" of run '{part.run_tag}'" if part.run_tag else ""
    return f"{part.count:,} {part.what}{of}{f' ({names})' if names else ''}: {part.why}."
