"""Locks between processes: a file next to what is locked, held open while the lock is needed."""

from __future__ import annotations

import fcntl
import os
from pathlib import Path

__all__ = ["is_at", "is_locked", "lock_file", "take_lock"]


def lock_file(path: Path) -> Path:
    """The lock file of `path`: it keeps its name when the file at `path` is replaced."""
    return path.with_name(f".{path.name}.lock")


def take_lock(path: Path) -> int:
    """Lock what is at `path`, which need not exist, and return a descriptor; closing it releases the lock.

    Raises `BlockingIOError` if another process holds the lock.
    """
    file = lock_file(path)
    while True:
        descriptor = os.open(file, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BaseException:
            os.close(descriptor)
            raise
        if is_at(descriptor, file):
            return descriptor
        # Somebody deleted the lock file between the two steps.
        os.close(descriptor)


def is_locked(file: Path) -> bool:
    """Whether a process holds a lock on this file, which need not exist."""
    try:
        with open(file, "rb") as opened:
            fcntl.flock(opened, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    except FileNotFoundError:
        pass
    return False


def is_at(descriptor: int, path: Path) -> bool:
    """Whether `path` still names the open file."""
    try:
        return os.path.samestat(os.fstat(descriptor), os.stat(path))
    except OSError:
        return False
