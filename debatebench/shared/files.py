"""Files that are either the old ones or the new ones, never half of each."""

from __future__ import annotations

import errno
import os
import tempfile
from pathlib import Path

__all__ = ["make_folder", "shown_path", "sync_path", "write_atomically"]


def make_folder(folder: Path) -> None:
    """Make `folder` and those above it where they are not there. Raises `OSError` that says what is in the way."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except FileExistsError:
        raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR), str(folder)) from None


def shown_path(file: Path) -> str:
    """The file's path as a person would type it from the current folder."""
    try:
        return str(file.relative_to(Path.cwd()))
    except ValueError:
        return str(file)


def sync_path(path: Path) -> None:
    """Make a file durable, or the names that were created, renamed or deleted in a folder."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def write_atomically(path: Path, content: str | bytes, *, mode: int = 0o644, is_durable: bool = True) -> None:
    """Write `content` to a temporary file beside `path`, sync it if `is_durable`, and rename it over `path`.

    Text is written as UTF-8 with its line ends as they are. Folders are made as needed. An `OSError` names `path`.
    """
    data = content.encode("utf-8") if isinstance(content, str) else content
    try:
        make_folder(path.parent)
        if path.exists() and not path.is_file():
            # A pipe or a device such as /dev/stdout is written to, not replaced.
            path.write_bytes(data)
        else:
            _write_and_rename(path, data, mode, is_durable)
    except OSError as error:
        # Nobody has ever heard of the temporary file.
        error.filename, error.filename2 = str(path), None
        raise


def _write_and_rename(path: Path, data: bytes, mode: int, is_durable: bool) -> None:
    descriptor, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with open(descriptor, "wb") as file:
            file.write(data)
            file.flush()
            os.fchmod(file.fileno(), mode)
            if is_durable:
                os.fsync(file.fileno())
        os.replace(temporary, path)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise
