"""Locks between processes: a file next to what is locked, held open while the lock is needed."""

from __future__ import annotations

import fcntl
import os
import time
from collections.abc import Callable
from pathlib import Path

_RETRY_S = 0.2
# A wait that a user notices.
_NOTICED_S = 2.0


def lock_file(path: Path) -> Path:
    """The lock file of `path`: it keeps its name when the file at `path` is replaced."""
    return path.with_name(f".{path.name}.lock")


def take_lock(path: Path, wait_s: float = 0.0, on_wait: Callable[[], None] | None = None) -> int:
    """Lock what is at `path`, which need not exist, and return a descriptor; closing it releases the lock.

    Waits up to `wait_s` seconds for another process, then raises `BlockingIOError`. `on_wait` is called once if it has
    waited for two seconds.
    """
    file = lock_file(path)
    started = time.monotonic()
    while True:
        descriptor = os.open(file, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
        try:
            _lock(descriptor, started, wait_s, on_wait)
        except BaseException:
            os.close(descriptor)
            raise
        if is_at(descriptor, file):
            return descriptor
        # Another program deleted the lock file before it was locked.
        os.close(descriptor)


def _lock(descriptor: int, started: float, wait_s: float, on_wait: Callable[[], None] | None) -> None:
    while True:
        try:
            return fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            waited = time.monotonic() - started
            if waited >= wait_s:
                raise
            if on_wait is not None and waited >= _NOTICED_S:
                on_wait()
                on_wait = None
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
