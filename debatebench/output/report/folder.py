"""The folder of a site: new files are added, old files of the site are deleted, other files are not changed."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Container, Mapping, Sequence
from pathlib import Path, PurePosixPath
from typing import Any

from debatebench.shared.errors import UsageError
from debatebench.shared.files import write_atomically

MANIFEST = "manifest.json"
"""Lists the files that the site consists of; what it does not list is never overwritten or deleted."""
MARKS = (MANIFEST, ".debatebench-site.json")
"""The names that the manifest has, or had: a folder with one of them may be a site."""
FORMAT = "debatebench-site/1"


def replace_files(new: Path, out_dir: Path, about: Mapping[str, Any] | None = None) -> None:
    """Move the files of the folder `new` (on the same file system) into `out_dir`, and delete old files of the site.

    The manifest holds `about`, and the SHA-256 of every file. At any moment each file is either the old or the new one,
    and the index changes last. Raises `UsageError`, before any change, if `out_dir` contains a file of the same name
    that does not belong to the site.
    """
    names = sorted(path.relative_to(new).as_posix() for path in new.rglob("*") if path.is_file())
    old = _listed_files(out_dir)
    _check_free(out_dir, names, set(old))
    hashes: dict[str, str | None] = {name: _sha256(new / name) for name in names}
    # Both lists, so that the files of a site are still listed if writing it was interrupted.
    _write_manifest(out_dir, {}, dict.fromkeys(old) | hashes)
    for name in sorted(names, key=_order):
        (out_dir / name).parent.mkdir(parents=True, exist_ok=True)
        os.replace(new / name, out_dir / name)
    for name in sorted(set(old) - set(names)):
        _delete(out_dir, name)
    _write_manifest(out_dir, about or {}, hashes)
    for former in MARKS[1:]:
        (out_dir / former).unlink(missing_ok=True)


def site_files(folder: Path) -> list[str]:
    """The files of the site in `folder` in the order in which they may be published, its index last.

    None in a folder without a site.
    """
    names = _files_in(folder / MANIFEST)
    return sorted([*names, MANIFEST], key=_order) if names else []


def _order(name: str) -> tuple[int, str]:
    """The order of files: what pages need comes before them, and the page that links to all others comes last."""
    return (0 if name.startswith("assets/") else 2 if name == "index.html" else 1, name)


def _check_free(out_dir: Path, names: Sequence[str], ours: Container[str]) -> None:
    """Refuse to overwrite a file that does not belong to the site, or to write through a link."""
    checked = {""}
    for name in names:
        if (in_folder := name.rpartition("/")[0]) not in checked:
            checked.add(in_folder)
            for parent in (PurePosixPath(in_folder), *PurePosixPath(in_folder).parents[:-1]):
                _check_folder(out_dir / parent)
        path = out_dir / name
        if path.is_dir() or (os.path.lexists(path) and name not in ours):
            raise UsageError(f"{path} is not a file of this site; move it elsewhere, or choose another --out-dir.")


def _check_folder(folder: Path) -> None:
    if folder.is_symlink() or (folder.exists() and not folder.is_dir()):
        raise UsageError(f"{folder} is not a folder of this site; move it elsewhere, or choose another --out-dir.")


def _listed_files(out_dir: Path) -> list[str]:
    """The files of the site in a folder; none if there is no site."""
    if out_dir.exists() and not out_dir.is_dir():
        raise UsageError(f"{out_dir} is not a folder; choose another --out-dir.")
    path = next((out_dir / name for name in MARKS if (out_dir / name).exists()), None)
    if path is None:
        return []
    names = _files_in(path)
    if names is None:
        raise UsageError(f"{path} is not the manifest of a site; choose another --out-dir, or delete it.")
    return names


def _files_in(manifest: Path) -> list[str] | None:
    """The files that the manifest of a site lists; None if there is none, or another program's of the same name."""
    try:
        content = json.loads(manifest.read_text(encoding="utf-8"))
        # The former name was only that of a site.
        if manifest.name == MANIFEST and content["format"] != FORMAT:
            return None
        return [name for name in content["files"] if isinstance(name, str) and _is_inside(name)]
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        return None


def _is_inside(name: str) -> bool:
    path = PurePosixPath(name)
    return bool(path.parts) and not path.is_absolute() and ".." not in path.parts and name not in MARKS


def _write_manifest(out_dir: Path, about: Mapping[str, Any], files: Mapping[str, str | None]) -> None:
    write_atomically(out_dir / MANIFEST, manifest_text(about, files))


def manifest_text(about: Mapping[str, Any], files: Mapping[str, str | None]) -> str:
    """The manifest of a site with these files and their hashes, in the order of their names."""
    whole = {"format": FORMAT, **about, "files": dict(sorted(files.items()))}
    return json.dumps(whole, indent=1, ensure_ascii=True, allow_nan=False) + "\n"


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _delete(out_dir: Path, name: str) -> None:
    """Delete a file of the site, and the folders that are then empty."""
    path = out_dir / name
    if any((out_dir / parent).is_symlink() for parent in Path(name).parents if parent != Path()):
        return
    path.unlink(missing_ok=True)
    for parent in path.parents:
        if parent == out_dir or any(parent.iterdir()):
            break
        parent.rmdir()
