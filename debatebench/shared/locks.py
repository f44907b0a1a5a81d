"""Locks between processes: a file next to what is locked, held open while the lock is needed."""

from __future__ import annotations

import fcntl
import os
import time
from pathlib import Path

__all__ = ["is_at", "is_locked", "lock_file", "take_lock"]


_RETRY_S = 0.2


def lock_file(path: Path) -> Path:
    """The lock file of `path`: it keeps its name when the file at `path` is replaced."""
    return path.with_name(f".{path.name}.lock")


def take_lock(path: Path, wait_s: float = 0.0) -> int:
    """Lock what is at `path`, which need not exist, and return a descriptor; closing it releases the lock.

    Waits up to `wait_s` seconds for another process, then raises `BlockingIOError`.
    """
    file = lock_file(path)
    deadline = time.monotonic() + wait_s
    while True:
        descriptor = os.open(file, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
        try:
            _lock(descriptor, deadline)
        except BaseException:
            os.close(descriptor)
            raise
        if is_at(descriptor, file):
            return descriptor
        # Another program deleted the lock file before it was locked.
        os.close(descriptor)


def _lock(descriptor: int, deadline: float) -> None:
    while True:
        try:
            return fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if time.monotonic() >= deadline:
                raise
            time.sleep(_RETRY_S)


def is_locked(path: Path) -> bool:
    """Whether a process holds a lock on this file or folder, which need not exist."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except FileNotFoundError:
        return False
    try:
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    finally:
        os.close(descriptor)
    return False


def is_at(descriptor: int, path: Path) -> bool:
    """Whether `path` still names the open file."""
    try:
        return os.path.samestat(os.fstat(descriptor), os.stat(path))
    except OSError:
        return False
