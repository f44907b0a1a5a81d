"""Files and folders that are replaced as a whole: either the old content or the new, never half of each."""

from __future__ import annotations

import errno
import fcntl
import os
import re
import secrets
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from debatebench.shared.errors import DebatebenchError
from debatebench.shared.locks import is_locked

_ERROR_NUMBER = re.compile(r'"errno":"(\d+)"|\[Errno (\d+)\]')
_UNFINISHED = re.compile(r"\..+\.(new|replaced)-[0-9a-f]{16}")


def not_written(target: Path, error: Exception) -> DebatebenchError:
    """That the disk refused `target`, in one sentence; `error` is the system's, or one of a library that quotes it.

    The error names a temporary file or a source as well as the target, so it is named only if it is in the way.
    """
    text = str(error)
    reason = getattr(error, "strerror", None)
    if reason is None and (number := _ERROR_NUMBER.search(text)):
        reason = os.strerror(int(number[1] or number[2]))
    named = Path(getattr(error, "filename", None) or target)
    shown = named if named in target.parents or target in named.parents else target
    return DebatebenchError(f"{shown} cannot be written: {reason or ' '.join(text.split())}.")


def make_folder(folder: Path) -> None:
    """Create `folder` and its missing parents. Raises an `OSError` that names what is in the way."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except FileExistsError:
        raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR), str(folder)) from None


def shown_path(file: Path) -> str:
    """The file's path as a person would type it from the current folder."""
    # Ten times as fast as `relative_to`: thousands of checks name their place, in case they fail.
    return str(file).removeprefix(f"{os.getcwd()}{os.sep}")


def sync_path(path: Path) -> None:
    """Sync a file, or the names that were created, renamed or deleted in a folder, to the disk."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def new_file(path: Path, flags: int = os.O_WRONLY) -> tuple[Path, int]:
    """Create a file that only its owner can read, at `path` or at the first free one of `path-2`, `path-3` and so on.

    Returns its path and an open descriptor. A link that is in the way is not followed.
    """
    target, number = path, 1
    while True:
        try:
            return target, os.open(target, flags | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
        except FileExistsError:
            number += 1
            target = path.with_name(f"{path.name}-{number}")


def unused_name_beside(path: Path, purpose: str) -> Path:
    """An unused hidden name in the folder of `path`, so that a rename can move one to the other."""
    return path.with_name(f".{path.name[:200]}.{purpose}-{secrets.token_hex(8)}")


def unfinished_in(folder: Path) -> list[Path]:
    """What killed processes have left under the names of `unused_name_beside`, and what running ones write now."""
    return sorted(path for path in folder.glob(".*-*") if _UNFINISHED.fullmatch(path.name))


@contextmanager
def new_folder_beside(path: Path) -> Iterator[Path]:
    """Yield a new hidden folder in the folder of `path`; it is deleted at the end if it still exists.

    So are those that killed processes have left there: a process holds a lock on its folder.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    folder = unused_name_beside(path, "new")
    start = folder.name.rpartition("-")[0]
    for left in unfinished_in(path.parent):
        if left.name.rpartition("-")[0] == start and left.is_dir() and not is_locked(left):
            shutil.rmtree(left, ignore_errors=True)
    folder.mkdir()
    descriptor = os.open(folder, os.O_RDONLY | os.O_CLOEXEC)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield folder
    finally:
        os.close(descriptor)
        shutil.rmtree(folder, ignore_errors=True)


@contextmanager
def replacing_file(path: Path, *, is_durable: bool = True) -> Iterator[Path]:
    """Yield a hidden name in the folder of `path`; the file that is written there replaces `path` at the end.

    With `is_durable` the file is synced first. On an error it is deleted.
    """
    new = unused_name_beside(path, "new")
    try:
        yield new
        if is_durable:
            sync_path(new)
        os.replace(new, path)
    except BaseException:
        new.unlink(missing_ok=True)
        raise


def write_atomically(path: Path, content: str | bytes, *, mode: int = 0o644, is_durable: bool = True) -> None:
    """Write `content` to a temporary file in the same folder, sync it if `is_durable`, and rename it to `path`.

    Text is written as UTF-8, and line ends are kept. Missing folders are created. An `OSError` names `path`.
    """
    data = content.encode("utf-8") if isinstance(content, str) else content
    try:
        make_folder(path.parent)
        if path.exists() and not path.is_file():
            # A pipe or a device such as /dev/stdout is written to, not replaced.
            path.write_bytes(data)
            return
        with replacing_file(path, is_durable=is_durable) as new:
            descriptor = os.open(new, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
            with open(descriptor, "wb") as file:
                os.fchmod(descriptor, mode)
                file.write(data)
    except OSError as error:
        # The name of the temporary file would mean nothing to a user.
        error.filename, error.filename2 = str(path), None
        raise
