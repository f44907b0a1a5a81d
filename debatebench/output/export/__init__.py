"""Exports: chosen runs of the warehouse as Parquet files, JSONL, a DuckDB file, a dbt project or a dataset to publish.

An export is a folder with a `manifest.json`. It is written next to its target and moved there when it is complete. A
new format is a function that writes a snapshot to a folder, and a line in `FORMATS`.

dataset_card.py     the card of a published dataset, from the template dataset_card.md
dataset_tables.py   the tables of a published dataset
debateflow.py       debates and annotations in DebateFlow's own JSON, annotations in both shapes
dbt_names.py        the names of tables and views in a dbt project
dbt_project.py      a dbt project that builds the same tables
dbt_properties.py   our YAML → dbt's YAML
dbt_sql.py          a SQL model → a dbt model
dbt_tests.py        our tests → dbt's tests
duckdb_file.py      a DuckDB file that needs no debatebench
every_eval_ever.py  Every Eval Ever's JSON: a file for each debater of a run
folder.py           replace the folder of an export safely
huggingface.py      a dataset for publication, as Hugging Face's `datasets` reads it
jsonl.py            the original harness's JSONL
manifest.py         the files of an export with rows and hashes
names.py            names of people in texts, replaced or listed for a reader
original_record.py  the rows of one debate → one original record
parquet.py          Parquet files: a folder per table, with a folder per run
pseudonyms.py       pseudonyms for annotators
snapshot.py         one state of the warehouse with the chosen runs
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from pkgutil import resolve_name
from typing import cast

import duckdb

from debatebench.output.export.folder import replacing
from debatebench.output.export.manifest import Contents, ExportManifest, ToRead, make_manifest, write_manifest
from debatebench.output.export.snapshot import DatasetOptions, open_snapshot
from debatebench.shared.amounts import known_names
from debatebench.shared.errors import DebatebenchError, UsageError
from debatebench.shared.files import not_written, write_atomically
from debatebench.shared.output_paths import check_output
from debatebench.shared.result_formats import render
from debatebench.shared.workspace import Workspace

FORMATS: dict[str, str] = {
    "parquet": "debatebench.output.export.parquet:write",
    "jsonl": "debatebench.output.export.jsonl:write",
    "debateflow": "debatebench.output.export.debateflow:write",
    "debateflow-keyed": "debatebench.output.export.debateflow:write_keyed",
    "duckdb": "debatebench.output.export.duckdb_file:write",
    "dbt": "debatebench.output.export.dbt_project:write",
    "huggingface": "debatebench.output.export.huggingface:write",
    "every-eval-ever": "debatebench.output.export.every_eval_ever:write",
}
"""Format → the function that writes a snapshot to a folder and returns the `Contents`."""


# A run that judges stored debates needs the run that has the speeches: the first two build the SQL models again, and
# readers of a dataset have nothing else.
_WITH_SOURCES = ("duckdb", "dbt", "huggingface")


@dataclass(frozen=True, slots=True)
class Export:
    """A finished export: its folder and its manifest.

    Where names of people were replaced, `to_read` lists what may still show one. It lies beside the folder, because it
    shows what was replaced.
    """

    folder: Path
    manifest: ExportManifest
    to_read: Path | None = None
    count_to_read: int = 0


def export(
    workspace: Workspace,
    format_name: str,
    out: Path,
    *,
    run_tags: Sequence[str] | None = None,
    select: Sequence[str] | None = None,
    force: bool = False,
    now: datetime | None = None,
    dataset: DatasetOptions | None = None,
) -> Export:
    """Write `run_tags` (None: every run) of the workspace's warehouse to the folder `out`, completely or not at all.

    An export as DuckDB, dbt or dataset also holds the runs whose debates the chosen runs judge.

    `select` chooses tables of a Parquet export: SQL models as in a build, and `raw.turns`; None: `marts`,
    `original`, `ratings`.
    `dataset` says how an export for Hugging Face is published; it needs a licence.
    `now` (naive UTC) is the build time in an exported DuckDB file; an export contains no other time of its own.
    With `force`, an export in `out` is replaced, unless the folder contains something that the export did not write.

    Raises `UsageError` for a format, folder, run or selection that cannot be used, and for a warehouse that is behind
    its SQL models; `DebatebenchError` when the disk or DuckDB reports an error. `out` is then unchanged.
    """
    if format_name not in FORMATS:
        raise UsageError(f"No export format '{format_name}'.{known_names(format_name, FORMATS)}")
    if select and format_name != "parquet":
        raise UsageError(f"--select works only with --format parquet; an export as {format_name} is always complete.")
    if dataset is not None and format_name != "huggingface":
        raise UsageError(
            f"--license, --anonymize and --with-attacked work only with --format huggingface, not with {format_name}."
        )
    check_output(workspace, out)
    place = out.resolve()
    try:
        with (
            replacing(place, force=force) as folder,
            open_snapshot(
                workspace,
                folder,
                run_tags,
                tuple(select or ()),
                now,
                with_sources=format_name in _WITH_SOURCES,
                dataset=dataset,
            ) as snapshot,
        ):
            contents = cast(Contents, resolve_name(FORMATS[format_name])(snapshot, folder))
            manifest = make_manifest(snapshot, format_name, folder, contents)
            write_manifest(folder, manifest)
        to_read = _write_to_read(workspace, place, contents)
    except OSError as error:
        raise not_written(place, error) from error
    except duckdb.IOException as error:
        raise not_written(place, error) from error
    except duckdb.Error as error:
        raise DebatebenchError(f"The export failed: {' '.join(str(error).split())}") from error
    return Export(place, manifest, to_read, len(contents.to_read or ()))


def _write_to_read(workspace: Workspace, place: Path, contents: Contents) -> Path | None:
    """Write the list of what a person should read, for its owner only."""
    if contents.to_read is None:
        return None
    path = place.with_name(f"{place.name}-to-read.csv")
    check_output(workspace, path)
    write_atomically(path, render(ToRead._fields, contents.to_read, "csv"), mode=0o600)
    return path
