"""The folder of an export: written next to its target, then renamed; files of other origin are never deleted."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path, PurePosixPath

from debatebench.output.export.manifest import MANIFEST, ExportManifest, file_sha256, read_export_manifest
from debatebench.shared.errors import DebatebenchError, UsageError
from debatebench.shared.files import new_folder_beside, unused_name_beside


@contextmanager
def replacing(out: Path, *, force: bool) -> Iterator[Path]:
    """Yield a new folder next to `out`; if the block ends without an error, the folder replaces `out`.

    `out` may be absent or empty. With `force` it may contain an export, if every file in it is listed in the export's
    manifest and unchanged, or is listed there as disposable. Otherwise raises `UsageError`, before any work.
    """
    _check_replaceable(out, force)
    with new_folder_beside(out) as new:
        yield new
        _check_replaceable(out, force)
        _swap(new, out)


def _check_replaceable(out: Path, force: bool) -> None:
    """Refuse a target where files would be lost."""
    if not out.name:
        raise UsageError(f"{out} cannot be the folder of an export; give a folder in it.")
    if not out.exists():
        return
    if not out.is_dir():
        raise UsageError(f"{out} is a file; give a folder for the export.")
    if not any(out.iterdir()):
        return
    if not force:
        raise UsageError(f"{out} is not empty; choose another folder, or replace the export in it with --force.")
    manifest = read_export_manifest(out)
    if manifest is None:
        raise UsageError(f"{out} is not an export (it has no valid {MANIFEST}), so --force does not replace it.")
    own = _Own(out, manifest)
    for path in _entries(out):
        objection = own.objection(path)
        if objection:
            raise UsageError(f"{path} {objection}, so --force does not delete it; move it elsewhere.")


def _entries(folder: Path) -> Iterator[Path]:
    """Every file, link and folder in `folder`, inner ones first. Links are not followed."""
    for parent, folders, files in os.walk(folder, topdown=False):
        for name in sorted([*files, *folders]):
            yield Path(parent, name)


class _Own:
    """What an export wrote, according to its manifest."""

    def __init__(self, folder: Path, manifest: ExportManifest) -> None:
        self.folder = folder
        self.files = {file.path: file for file in manifest.files}
        self.folders = {parent.as_posix() for path in self.files for parent in PurePosixPath(path).parents}
        self.disposable = manifest.disposable

    def objection(self, path: Path) -> str | None:
        """Why `path` must not be deleted; None if the export wrote it and it is unchanged."""
        name = path.relative_to(self.folder).as_posix()
        if any(name == own or name.startswith(f"{own}/") for own in self.disposable):
            return None
        if path.is_symlink() or not (path.is_dir() or path.is_file()):
            return "is not part of this export"
        if path.is_dir():
            return None if name in self.folders else "is not part of this export"
        if name == MANIFEST:
            return None
        listed = self.files.get(name)
        if listed is None:
            return "is not part of this export"
        is_same = path.stat().st_size == listed.bytes and file_sha256(path) == listed.sha256
        return None if is_same else "has changed since it was exported"


def _swap(new: Path, out: Path) -> None:
    """Replace `out` by `new`. A crash between the two renames leaves both folders, complete, next to the target."""
    if not out.exists() or not any(out.iterdir()):
        os.rename(new, out)
        return
    old = unused_name_beside(out, "replaced")
    os.rename(out, old)
    try:
        os.rename(new, out)
    except OSError:
        os.rename(old, out)
        raise
    _delete_own(old, out)


def _delete_own(old: Path, out: Path) -> None:
    """Delete the replaced export, but nothing that was added to it after the check."""
    manifest = read_export_manifest(old)
    own = _Own(old, manifest) if manifest else None
    for path in _entries(old):
        if own is None or own.objection(path):
            continue
        if path.is_dir() and not path.is_symlink():
            with suppress(OSError):  # the folder contains something that is kept
                path.rmdir()
        else:
            path.unlink()
    try:
        old.rmdir()
    except OSError:
        raise DebatebenchError(
            f"{out} was replaced, but {old} contains files that were added to the old export."
        ) from None
