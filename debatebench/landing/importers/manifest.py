"""Kept imports: `warehouse/imports/<tag>/manifest.json`, and numbered parts with exact copies of the sources."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Collection, Iterator
from pathlib import Path
from typing import Annotated, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, ValidationError

from debatebench.config.types import EloConfig
from debatebench.landing.importers import IMPORTERS
from debatebench.landing.importers.base import BadRecord, Imported, Key
from debatebench.shared.errors import DamagedDataError, NewerDataError
from debatebench.shared.json_bytes import from_json

MANIFEST = "manifest.json"
_MANIFEST_VERSION: Literal[1] = 1


class _Frozen(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


def _plain_name(name: str) -> str:
    if name in ("", ".", "..") or "/" in name or "\0" in name:
        raise ValueError(f"{name!r} is not the name of a file or folder")
    return name


PlainName = Annotated[str, AfterValidator(_plain_name)]


class KeptFile(_Frozen):
    """One copied file: its path inside the part, and its size and hash when it was copied."""

    name: str
    size: int
    sha256: str


class Part(_Frozen):
    """What one import added: `root` is the imported file or folder, under its own name."""

    name: PlainName
    root: PlainName
    files: tuple[KeptFile, ...]
    replaces: tuple[tuple[str, ...], ...] = ()
    """Keys of units whose versions in earlier parts no longer count."""
    rules: int | None = None
    """The rules of the format that accepted the files; see `Importer.rules`."""
    plain_rules: int | None = Field(None, exclude=True)
    """Earlier versions wrote this; it is read and ignored."""


class ImportManifest(_Frozen):
    """What is kept under one tag, in the order of import, with the settings that the first import froze."""

    manifest_version: Literal[1] = _MANIFEST_VERSION
    run_tag: str
    format: str
    elo: EloConfig
    parts: tuple[Part, ...] = ()

    def content(self) -> str:
        """The content of the manifest's file."""
        # A part without rules is written as earlier versions wrote it.
        return self.model_dump_json(indent=2, exclude_none=True) + "\n"

    def parts_at(self, sha256: str) -> int | None:
        """How many of the parts there were when the file had this hash; None if it never had."""
        for count in range(len(self.parts), 0, -1):
            earlier = self.model_copy(update={"parts": self.parts[:count]})
            if hashlib.sha256(earlier.content().encode()).hexdigest() == sha256:
                return count
        return None


def read_import_manifest(folder: Path) -> ImportManifest | None:
    """The manifest of a tag's folder; None if there is none yet. Raises `DamagedDataError` for an invalid file."""
    path = folder / MANIFEST
    if not path.exists():
        return None
    content = path.read_bytes()
    _refuse_newer(path, content)
    try:
        manifest = ImportManifest.model_validate_json(content)
    except ValidationError as error:
        fault = error.errors(include_url=False)[0]
        place = ".".join(map(str, fault["loc"])) or "the file"
        raise DamagedDataError(f"{path} was changed after it was written: {place}: {fault['msg']}.") from error
    if manifest.format not in IMPORTERS:
        raise NewerDataError(
            f"{path} names the format '{manifest.format}', which only a newer version of debatebench knows; this one "
            f"reads {', '.join(IMPORTERS)}."
        )
    return manifest


def _refuse_newer(path: Path, content: bytes) -> None:
    """Refuse the manifest of a newer version, which has not changed after it was written."""
    try:
        version = from_json(content)["manifest_version"]
    except (ValueError, TypeError, KeyError, RecursionError):
        return
    if isinstance(version, int) and version > _MANIFEST_VERSION:
        raise NewerDataError(
            f"{path} was written by a newer version of debatebench, which is needed to read it (manifest version "
            f"{version}; this one reads {_MANIFEST_VERSION})."
        )


def kept_manifest(folder: Path) -> ImportManifest:
    """The manifest of a tag's folder. Raises `DamagedDataError` if it is missing or invalid."""
    manifest = read_import_manifest(folder)
    if manifest is None:
        raise DamagedDataError(f"{folder} is not a kept import: it has no {MANIFEST}.")
    return manifest


def kept_units(
    folder: Path, manifest: ImportManifest, *, first_part: int = 0, landed: Collection[Key] = ()
) -> Iterator[Imported]:
    """Every unit that counts: one per key, without those that a later part replaces.

    Parts before `first_part` and the `landed` units are left out. Memory grows with the number of keys, not with the
    size of the units. Raises `DamagedDataError` if a kept file has changed since it was copied.
    """
    importer = IMPORTERS[manifest.format]

    def read(part: Part, path: Path) -> Iterator[Imported | BadRecord]:
        is_accepted = part.rules is not None and part.rules == importer.rules
        return (importer.read_accepted if is_accepted else importer.read)(path, manifest.run_tag)

    return (unit for _, unit in _counted(folder, manifest, read, first_part, landed))


def compared_units(folder: Path, manifest: ImportManifest) -> Iterator[tuple[Part, Imported]]:
    """Every unit that counts, with its part, as `Importer.read_kept` reads it; the errors are those of `kept_units`."""
    read_kept = IMPORTERS[manifest.format].read_kept
    return _counted(folder, manifest, lambda _, path: read_kept(path, manifest.run_tag))


def _counted(
    folder: Path,
    manifest: ImportManifest,
    read: Callable[[Part, Path], Iterator[Imported | BadRecord]],
    first_part: int = 0,
    landed: Collection[Key] = (),
) -> Iterator[tuple[Part, Imported]]:
    replaced = {key: index for index, part in enumerate(manifest.parts) for key in part.replaces}
    seen = set(landed)
    for index, part in enumerate(manifest.parts[first_part:], first_part):
        check_part(folder, manifest, part)
        for unit in read(part, folder / part.name / part.root):
            if isinstance(unit, BadRecord):
                place = f"{folder / part.name}: {unit.where}"
                raise DamagedDataError(f"{place}: this version of debatebench cannot read a kept record: {unit.reason}")
            if unit.key not in seen and replaced.get(unit.key, index) <= index:
                seen.add(unit.key)
                yield part, unit


def check_part(folder: Path, manifest: ImportManifest, part: Part) -> list[Path]:
    """The files of a part, in reading order. Raises `DamagedDataError` if they have changed since they were copied."""
    files = files_of(folder, manifest, part)
    inside = folder / part.name
    for file in part.files:
        with (inside / file.name).open("rb") as content:
            if hashlib.file_digest(content, "sha256").hexdigest() != file.sha256:
                raise DamagedDataError(
                    f"{inside / file.name} has changed since it was imported; put the original file back "
                    f"({file.size:,} bytes, SHA-256 {file.sha256})."
                )
    return files


def files_of(folder: Path, manifest: ImportManifest, part: Part) -> list[Path]:
    """The files of a part, in reading order, without a check of their content. Raises `DamagedDataError` if the names
    differ from those that were copied.
    """
    inside = folder / part.name
    files = IMPORTERS[manifest.format].find_files(inside / part.root)
    expected = {file.name for file in part.files}
    names = {file.relative_to(inside).as_posix() for file in files if file.is_file()}
    if names != expected:
        name = sorted(names ^ expected)[0]
        raise DamagedDataError(
            f"{inside / name} is {'missing' if name in expected else 'not part of what was imported'}."
        )
    for file in files:
        if not file.resolve().is_relative_to(inside.resolve()):
            raise DamagedDataError(f"{file} is a link to another place, and was a file when it was imported.")
    return files
