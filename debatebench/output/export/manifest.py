"""The manifest of an export: its files, with rows and hashes, and the warehouse that it was made from."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, NamedTuple

import duckdb
from pydantic import BaseModel, ConfigDict, ValidationError

from debatebench.output.export.snapshot import Snapshot
from debatebench.shared.version import __version__

MANIFEST = "manifest.json"


class _Frozen(BaseModel):
    model_config = ConfigDict(frozen=True, extra="ignore")


class ExportedFile(_Frozen):
    """A file of the export, by its path in the folder. `rows` of a database are by table; null where not counted."""

    path: str
    bytes: int
    sha256: str
    rows: int | dict[str, int] | None = None


class Landing(_Frozen):
    """A run as it was landed: hash of its journal, or of the manifest of its kept imports."""

    run_tag: str
    source: str
    content_sha256: str


class BuiltFrom(_Frozen):
    """A SQL model of the warehouse and the hash of its text."""

    name: str
    version: int | None
    sql_sha256: str


class WarehouseState(_Frozen):
    """The state of the warehouse that was exported."""

    debatebench_version: str
    duckdb_version: str
    landings: tuple[Landing, ...]
    models: tuple[BuiltFrom, ...]


class LeftOut(_Frozen):
    """What the export does not contain, and why. `names` are the names of what was left out, if there are any."""

    what: str
    why: str
    count: int
    run_tag: str | None = None
    names: tuple[str, ...] = ()


class ExportManifest(_Frozen):
    """The description of an export. It does not contain a time, so that equal warehouses give equal manifests.

    `disposable` are paths that a tool writes when it uses the export; a later export may replace them.
    """

    format: Literal["debatebench-export"] = "debatebench-export"
    format_version: Literal[1] = 1
    kind: str
    run_tags: tuple[str, ...]
    warehouse: WarehouseState
    left_out: tuple[LeftOut, ...] = ()
    disposable: tuple[str, ...] = ()
    files: tuple[ExportedFile, ...]


class ToRead(NamedTuple):
    """Words in a text of an export that may show a person, for somebody to read before it is published."""

    file: str
    column: str
    words: str
    why: str
    text: str


@dataclass(frozen=True, slots=True)
class Contents:
    """What a format wrote: rows by file, or by table of a file; what it left out; what tools add to the folder."""

    rows: Mapping[str, int | Mapping[str, int]]
    left_out: tuple[LeftOut, ...] = ()
    disposable: tuple[str, ...] = ()
    """Paths in the export that a tool writes when it is used, and that a later export may replace."""
    to_read: tuple[ToRead, ...] | None = None
    """Where names of people were replaced, what may still show one. It is not part of the export."""


def make_manifest(snapshot: Snapshot, kind: str, folder: Path, contents: Contents) -> ExportManifest:
    """The manifest of everything in `folder`."""
    paths = sorted(path for path in folder.rglob("*") if path.is_file())
    files = []
    for path in paths:
        name = path.relative_to(folder).as_posix()
        rows = contents.rows.get(name)
        files.append(
            ExportedFile(
                path=name,
                bytes=path.stat().st_size,
                sha256=file_sha256(path),
                rows=rows if rows is None or isinstance(rows, int) else dict(rows),
            )
        )
    return ExportManifest(
        kind=kind,
        run_tags=snapshot.run_tags,
        warehouse=_warehouse(snapshot),
        left_out=contents.left_out,
        disposable=contents.disposable,
        files=tuple(files),
    )


def _warehouse(snapshot: Snapshot) -> WarehouseState:
    landings = snapshot.con.execute(
        "select run_tag, source, content_sha256 from warehouse.meta.landings "
        "where list_contains(?::varchar[], run_tag) order by run_tag",
        [list(snapshot.run_tags)],
    ).fetchall()
    models = snapshot.con.execute(
        "select name, version, sql_sha256 from warehouse.meta.builds order by name"
    ).fetchall()
    return WarehouseState(
        debatebench_version=__version__,
        duckdb_version=duckdb.__version__,
        landings=tuple(Landing(run_tag=tag, source=source, content_sha256=sha) for tag, source, sha in landings),
        models=tuple(BuiltFrom(name=name, version=version, sql_sha256=sha) for name, version, sha in models),
    )


def file_sha256(path: Path) -> str:
    """SHA-256 of a file's bytes, in hex."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def write_manifest(folder: Path, manifest: ExportManifest) -> None:
    """Write the manifest to the folder that it describes."""
    (folder / MANIFEST).write_text(_text(manifest), encoding="utf-8")


def _text(manifest: ExportManifest) -> str:
    """JSON with one line per file, model and landing, so that two manifests can be compared by eye."""
    lines = []
    for key, value in manifest.model_dump(mode="json").items():
        lines.append(f"  {json.dumps(key)}: {_value(value, 2)}")
    return "{\n" + ",\n".join(lines) + "\n}\n"


def _value(value: Any, indent: int) -> str:
    """A list with one element per line, also in a mapping of lists; anything else on one line."""
    margin = " " * indent
    if isinstance(value, list) and value and isinstance(value[0], dict):
        inner = ",\n".join(f"{margin}  {json.dumps(item)}" for item in value)
        return f"[\n{inner}\n{margin}]"
    if isinstance(value, dict):
        inner = ",\n".join(f"{margin}  {json.dumps(key)}: {_value(item, indent + 2)}" for key, item in value.items())
        return f"{{\n{inner}\n{margin}}}"
    return json.dumps(value)


def read_export_manifest(folder: Path) -> ExportManifest | None:
    """The manifest of the export in `folder`; None if it does not exist or cannot be read."""
    try:
        return ExportManifest.model_validate_json((folder / MANIFEST).read_bytes())
    except (OSError, ValidationError):
        return None
