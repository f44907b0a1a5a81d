"""The folder of a site: new files are added, old files of the site are deleted, other files are not changed."""

from __future__ import annotations

import json
import os
from pathlib import Path, PurePosixPath

from debatebench.shared.errors import UsageError
from debatebench.shared.files import write_atomically

MANIFEST = ".debatebench-site.json"
"""Lists the files that the site consists of; what it does not list is never overwritten or deleted."""


def replace_files(new: Path, out_dir: Path) -> None:
    """Move the files of the folder `new` (on the same file system) into `out_dir`, and delete old files of the site.

    At any moment each file is either the old or the new one, and the index changes last. Raises `UsageError`, before
    any change, if `out_dir` contains a file of the same name that does not belong to the site.
    """
    names = sorted(path.relative_to(new).as_posix() for path in new.rglob("*") if path.is_file())
    old = _read_manifest(out_dir)
    for name in names:
        _check_free(out_dir, name, name in old)
    # Both lists, so that the files of a site are still listed if writing it was interrupted.
    _write_manifest(out_dir, sorted({*old, *names}))
    for name in sorted(names, key=_order):
        (out_dir / name).parent.mkdir(parents=True, exist_ok=True)
        os.replace(new / name, out_dir / name)
    for name in sorted(set(old) - set(names)):
        _delete(out_dir, name)
    _write_manifest(out_dir, names)


def site_files(folder: Path) -> list[str]:
    """The files of the site in `folder`, in the order in which they may be published; none in another folder."""
    return sorted(_read_manifest(folder), key=_order)


def _order(name: str) -> tuple[int, str]:
    """The order of files: what pages need comes before them, and the page that links to all others comes last."""
    return (0 if name.startswith("assets/") else 2 if name == "index.html" else 1, name)


def _check_free(out_dir: Path, name: str, is_ours: bool) -> None:
    """Refuse to overwrite a file that does not belong to the site, or to write through a link."""
    path = out_dir / name
    for parent in path.relative_to(out_dir).parents:
        folder = out_dir / parent
        if parent != Path() and (folder.is_symlink() or (folder.exists() and not folder.is_dir())):
            raise UsageError(f"{folder} is not a folder of this site; move it elsewhere, or choose another --out-dir.")
    if path.is_dir() or (os.path.lexists(path) and not is_ours):
        raise UsageError(f"{path} is not a file of this site; move it elsewhere, or choose another --out-dir.")


def _read_manifest(out_dir: Path) -> list[str]:
    if out_dir.exists() and not out_dir.is_dir():
        raise UsageError(f"{out_dir} is not a folder; choose another --out-dir.")
    try:
        names = json.loads((out_dir / MANIFEST).read_text(encoding="utf-8"))["files"]
        return [name for name in names if isinstance(name, str) and _is_inside(name)]
    except FileNotFoundError:
        return []
    except (ValueError, KeyError, TypeError) as error:
        raise UsageError(
            f"{out_dir / MANIFEST} cannot be read; move {out_dir} elsewhere, and run the report again."
        ) from error


def _is_inside(name: str) -> bool:
    path = PurePosixPath(name)
    return bool(path.parts) and not path.is_absolute() and ".." not in path.parts and name != MANIFEST


def _write_manifest(out_dir: Path, names: list[str]) -> None:
    write_atomically(out_dir / MANIFEST, json.dumps({"files": names}, indent=1, ensure_ascii=True) + "\n")


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
