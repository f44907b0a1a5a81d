"""A site or an export as the files to publish: nothing that its manifest does not list, each with its type."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from debatebench.output.export.manifest import MANIFEST, read_export_manifest
from debatebench.output.report.folder import site_files
from debatebench.shared.errors import UsageError

_TYPES = {
    ".css": "text/css; charset=utf-8",
    ".csv": "text/csv; charset=utf-8",
    ".html": "text/html; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".json": "application/json",
    ".jsonl": "application/jsonl",
    ".md": "text/markdown; charset=utf-8",
    ".mjs": "text/javascript; charset=utf-8",
    ".parquet": "application/vnd.apache.parquet",
    ".pdf": "application/pdf",
    ".png": "image/png",
    ".sql": "text/plain; charset=utf-8",
    ".svg": "image/svg+xml",
    ".txt": "text/plain; charset=utf-8",
    ".wasm": "application/wasm",
    ".yml": "application/yaml",
}
_OTHER_TYPE = "application/octet-stream"
# A page and what it loads must fit together, so a browser asks each time whether they have changed.
_ASKED_EACH_TIME = (".css", ".html", ".js", ".json", ".mjs", ".wasm")


@dataclass(frozen=True, slots=True)
class PublishedFile:
    """A file to publish under `name`, a relative path with `/`. `sha256` is that of its bytes, in binary."""

    name: str
    path: Path
    size: int
    sha256: bytes
    content_type: str
    cache_control: str
    is_kept: bool = False
    """Whether it stays where it is published when a later upload lacks it, as journals do."""


def published_files(folder: Path, cache_control: str | None = None) -> list[PublishedFile]:
    """The files of the site or export in `folder`; of a site, its index comes last.

    `cache_control` is said of every file, else what its kind needs. Raises `UsageError` for another folder, and for
    one that lacks a file or has a link in its place.
    """
    names = site_files(folder)
    if not names:
        manifest = read_export_manifest(folder)
        if manifest is None:
            raise UsageError(
                f"{folder} is neither a site nor an export; `debatebench report` and `debatebench export` write them."
            )
        names = [*(file.path for file in manifest.files), MANIFEST]
    return [published_file(folder, name, cache_control) for name in names]


def published_file(folder: Path, name: str, cache_control: str | None = None) -> PublishedFile:
    """One file of a folder."""
    path = folder / name
    places = [folder / part for part in (PurePosixPath(name), *PurePosixPath(name).parents) if part.name]
    if not path.is_file() or any(place.is_symlink() for place in places):
        raise UsageError(f"{path} belongs to what is published, and is not a file; write the folder again.")
    suffix = path.suffix.lower()
    usual = "no-cache" if suffix in _ASKED_EACH_TIME else "max-age=3600"
    with path.open("rb") as file:
        digest = hashlib.file_digest(file, "sha256").digest()
        size = file.tell()
    return PublishedFile(name, path, size, digest, _TYPES.get(suffix, _OTHER_TYPE), cache_control or usual)


def size_text(files: Sequence[PublishedFile]) -> str:
    """How much they are together, such as 3.1 MB."""
    size = sum(file.size for file in files)
    return f"{size / 1e6:,.1f} MB" if size >= 1e5 else f"{size / 1e3:,.1f} kB"
