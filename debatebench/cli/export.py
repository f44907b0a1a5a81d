"""`debatebench export`."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from debatebench.cli.common import note, now, of_run, say, workspace_of
from debatebench.shared.amounts import counted, did_you_mean
from debatebench.shared.errors import DebatebenchError, UsageError

if TYPE_CHECKING:
    from debatebench.output.export import Export
    from debatebench.output.export.manifest import LeftOut
    from debatebench.output.publish.hub import Push

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
    EVERY_EVAL_EVER = "every-eval-ever"


def _format_named(text: str) -> ExportFormat:
    """The format, whose name may also be written with underscores."""
    name = text.replace("_", "-")
    if name not in list(ExportFormat):
        raise typer.BadParameter(f"'{text}' is not one of {', '.join(ExportFormat)}.{did_you_mean(text, ExportFormat)}")
    return ExportFormat(name)


def _formats_from(incomplete: str) -> list[str]:
    return [name for name in ExportFormat if name.startswith(incomplete)]


def export(
    context: typer.Context,
    format_name: Annotated[
        ExportFormat,
        typer.Option(
            "--format",
            parser=_format_named,
            metavar=f"[{'|'.join(ExportFormat)}]",
            autocompletion=_formats_from,
            help="The format of the export.",
        ),
    ],
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
    push: Annotated[
        str | None,
        typer.Option(
            "--push",
            metavar="OWNER/NAME",
            help="Then push a dataset for Hugging Face to this repository of the Hub. The token is that in HF_TOKEN.",
        ),
    ] = None,
    public: Annotated[
        bool, typer.Option("--public", help="Let everybody see what --push pushes. Default: the repository is private.")
    ] = False,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Write the export, and only say what --push would push.")
    ] = False,
    force: Annotated[bool, typer.Option("--force", help="Replace an existing export in the folder.")] = False,
) -> None:
    """Write runs as files that other tools read.

    Parquet, JSONL, DuckDB, a dbt project, a dataset for Hugging Face, DebateFlow's JSON, or Every Eval Ever's.
    """
    from debatebench.output.export import export as write_export
    from debatebench.output.export.snapshot import DatasetOptions

    options = DatasetOptions(license_id, anonymize, with_attacked)
    to_hub = _checked_push(format_name, push, public, dry_run)
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
    if to_hub is not None:
        _push(done, to_hub, dry_run)


def _checked_push(format_name: ExportFormat, repository: str | None, is_public: bool, is_dry: bool) -> Push | None:
    """Where to push to, if that is asked for; what does not fit together is refused before anything is exported."""
    from debatebench.output.publish.hub import Push, check_push

    if repository is None:
        if is_public or is_dry:
            raise UsageError(f"{'--public' if is_public else '--dry-run'} has no effect without --push; give both.")
        return None
    if format_name is not ExportFormat.HUGGINGFACE:
        raise UsageError(f"--push works only with --format huggingface, not with {format_name.value}.")
    push = Push(repository, is_public)
    check_push(push, needs_token=not is_dry)
    return push


def _push(done: Export, push: Push, is_dry: bool) -> None:
    from debatebench.output.publish.hub import push_dataset

    files = counted(len(done.manifest.files) + 1, "file")
    kind = "public" if push.is_public else "private"
    if is_dry:
        for path in sorted([*(file.path for file in done.manifest.files), "manifest.json"]):
            say(f"would push {path}")
        say(f"{files} would be pushed to the {kind} dataset {push.address}; nothing was sent.")
        return
    if done.count_to_read:
        # What a person has to read first cannot be taken back afterwards.
        raise DebatebenchError(
            f"Nothing was pushed, because {done.to_read} has words to read first; then push the folder with "
            f"`hf upload {push.repository} {done.folder} --repo-type dataset`."
        )
    runs = ", ".join(done.manifest.run_tags)
    address = push_dataset(done.folder, push, f"Runs {runs}" if len(done.manifest.run_tags) > 1 else f"Run {runs}")
    say(f"Pushed {files} to the {kind} dataset {address}")


def _described(part: LeftOut) -> str:
    """One line about what was left out; the manifest has all names."""
    names = ", ".join(part.names[:_MOST_NAMES]) + (", …" if len(part.names) > _MOST_NAMES else "")
    of = f" of run '{part.run_tag}'" if part.run_tag else ""
    return f"{part.count:,} {part.what}{of}{f' ({names})' if names else ''}: {part.why}."
