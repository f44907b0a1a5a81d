"""Publishing: change a copy of the warehouse, then put it in the place of the old one.

A reader never sees half a change and never blocks a writer: it keeps the file that it opened. If a publication fails,
the old warehouse stays unchanged.
"""

from __future__ import annotations

import fcntl
import glob
import math
import os
import shutil
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing, contextmanager, nullcontext, suppress
from pathlib import Path

import duckdb

from debatebench.query.duckdb_errors import check_no_folder
from debatebench.shared.duckdb_sql import NO_EXTENSIONS, limit_memory, quoted_text
from debatebench.shared.errors import DamagedDataError, DebatebenchError, HeldWarehouseError, UsageError
from debatebench.shared.files import make_folder, sync_path
from debatebench.shared.locks import take_lock
from debatebench.shared.memory import check_memory

# DuckDB 1.4 and later can open the file.
STORAGE_VERSION = "v1.4.0"
# A quarter of DuckDB's default: several threads read tables of a hundred thousand rows, and the query that creates a
# table compresses it in parallel with others, instead of the checkpoint compressing one after the other.
_ROW_GROUP = 30720
_RETRY_S = 0.2
BUILDING_MB = 2000
"""Memory for landing records and building SQL models, in megabytes; a large warehouse gets more."""
# DuckDB takes what follows a question mark for parameters, and a backslash for a separator of folders.
_REFUSED = {"a question mark": "?", "a backslash": "\\"}


@contextmanager
def publishing(
    database: Path,
    *,
    from_scratch: bool = False,
    wait_s: float = 10.0,
    note: Callable[[str], None] | None = None,
) -> Iterator[duckdb.DuckDBPyConnection]:
    """Yield a connection to a private copy of `database`; if the block ends without an error, the copy replaces it.

    `from_scratch` starts from an empty file. If `database` is a link, the file that it names is replaced. Waits for
    other publications, and tells `note` if that takes long. Waits up to `wait_s` seconds for a program that has the
    warehouse open for writing, then raises `HeldWarehouseError`. A path that DuckDB cannot open is a `UsageError`. An
    error inside the block leaves the old file unchanged; an error of the disk becomes a `DebatebenchError`.
    """
    check_path(database)
    database = Path(os.path.realpath(database))
    try:
        make_folder(database.parent)
        with _only_publisher(database, note):
            yield from _replacing(database, from_scratch, wait_s)
    except (OSError, duckdb.OperationalError, duckdb.FatalException) as error:
        check_memory(error)
        raise DebatebenchError(f"The warehouse cannot be changed ({_reason(error)}); it stays as it was.") from error


def check_path(database: Path) -> None:
    """Raise `UsageError` if DuckDB cannot keep a file at this path."""
    check_no_folder(database)
    path = os.path.realpath(database)
    wrong = next((name for name, character in _REFUSED.items() if character in path), None)
    if wrong is None and not path.isascii():
        try:
            path.encode()
        except UnicodeEncodeError:
            wrong = "bytes that are not UTF-8"
    if wrong is not None:
        raise UsageError(
            f"DuckDB cannot keep a warehouse at {path}, because the path contains {wrong}; rename the folder."
        )


def private_copy(database: Path) -> Path:
    """The file that becomes the warehouse when a publication ends."""
    database = Path(os.path.realpath(database))
    return database.with_name(f".{database.name}.publishing")


def _replacing(database: Path, from_scratch: bool, wait_s: float) -> Iterator[duckdb.DuckDBPyConnection]:
    """Yield the connection to the copy, then publish it."""
    copy = private_copy(database)
    _remove(copy)
    try:
        with _without_writers(database, wait_s, may_be_damaged=from_scratch):
            before = _state(database)
            if database.exists() and not from_scratch:
                shutil.copyfile(database, copy)
        with opened_for_building(copy) as con:
            yield con
            con.execute("checkpoint")
        sync_path(copy)
        with _locked(database, wait_s):
            if _state(database) != before:
                raise HeldWarehouseError(
                    f"Another program has changed {database} in the meantime; run `debatebench land` again."
                )
            if database.exists():
                shutil.copymode(database, copy)
            # A remaining log belongs to a missing or damaged file, and would keep the new one from opening.
            _log_of(database).unlink(missing_ok=True)
            os.replace(copy, database)
        sync_path(database.parent)
    finally:
        _remove(copy)


@contextmanager
def opened_for_building(copy: Path) -> Iterator[duckdb.DuckDBPyConnection]:
    """Open a file that may be lost until it is renamed, so it has no log and is written to disk once."""
    settings: dict[str, str | bool | int | float | list[str]] = {
        "storage_compatibility_version": STORAGE_VERSION,
        "fsync_mode": "NONE",
        "checkpoint_threshold": "1TB",
        "auto_checkpoint_skip_wal_threshold": 2**62,
        "temp_directory": str(_spill_of(copy)),
        **NO_EXTENSIONS,
    }
    with closing(duckdb.connect(config=settings)) as con:
        con.execute(
            f"attach {quoted_text(str(copy))} as warehouse (recovery_mode 'no_wal_writes', "
            f"row_group_size {_ROW_GROUP}); use warehouse"
        )
        limit_memory(con, copy, least=BUILDING_MB)
        yield con


@contextmanager
def _only_publisher(database: Path, note: Callable[[str], None] | None) -> Iterator[None]:
    """Hold the lock file next to the warehouse. Every publication ends, and so does a lock whose process was killed."""

    def on_wait() -> None:
        if note is not None:
            note(f"Waiting for another process, which is publishing {database}.")

    descriptor = take_lock(database, math.inf, on_wait)
    try:
        yield
    finally:
        os.close(descriptor)


def _take(lock: Callable[[], None], wait_s: float, refusal: HeldWarehouseError) -> None:
    """Call `lock` until another process releases the lock, or raise `refusal` after `wait_s` seconds."""
    deadline = time.monotonic() + wait_s
    while True:
        try:
            return lock()
        except (BlockingIOError, PermissionError):
            if time.monotonic() > deadline:
                raise refusal from None
            time.sleep(_RETRY_S)


@contextmanager
def _without_writers(database: Path, wait_s: float, *, may_be_damaged: bool) -> Iterator[None]:
    """Hold the warehouse, if it exists, open read-only, which keeps writers out and lets readers in.

    If a crashed program left a write-ahead log, it is written into the file first. The lock lasts until this process
    closes any descriptor of the file. Raises `HeldWarehouseError` if a program still writes after `wait_s` seconds.
    """
    deadline = time.monotonic() + wait_s
    reader = None
    while database.exists() and reader is None:
        try:
            if _log_of(database).exists():
                with duckdb.connect(str(database)) as writer:
                    writer.execute("checkpoint")
            reader = duckdb.connect(str(database), read_only=True)
        except duckdb.Error as error:
            check_memory(error)
            if "different configuration" in str(error):
                raise HeldWarehouseError(
                    f"This process has {database} open with a different configuration; close that connection first."
                ) from error
            if "Could not set lock" not in str(error):
                if may_be_damaged:
                    break
                raise DamagedDataError(
                    f"The warehouse {database} cannot be opened ({_reason(error)}). Rebuild it with "
                    "`debatebench build --from-journals`; journals and imports are untouched."
                ) from error
            if time.monotonic() > deadline:
                raise _written_by_another(database) from error
            time.sleep(_RETRY_S)
    with closing(reader) if reader is not None else nullcontext():
        yield


@contextmanager
def _locked(database: Path, wait_s: float) -> Iterator[None]:
    """Hold a reader's lock on the warehouse, if it exists: the same lock that DuckDB takes, but much faster.

    Raises `HeldWarehouseError` if a program still writes after `wait_s` seconds.
    """
    with ExitStack() as stack:
        with suppress(FileNotFoundError):
            file = stack.enter_context(open(database, "rb"))
            shared = fcntl.LOCK_SH | fcntl.LOCK_NB
            _take(lambda: fcntl.lockf(file, shared), wait_s, _written_by_another(database))
        yield


def _written_by_another(database: Path) -> HeldWarehouseError:
    return HeldWarehouseError(
        f"Another program has {database} open for writing; close it and run `debatebench land` again."
    )


def _state(database: Path) -> list[tuple[int, int, int] | None]:
    """A value that differs after the file or its log was changed or replaced."""
    return [_stat(database), _stat(_log_of(database))]


def _stat(path: Path) -> tuple[int, int, int] | None:
    try:
        found = path.stat()
    except FileNotFoundError:
        return None
    return found.st_ino, found.st_size, found.st_mtime_ns


def _reason(error: Exception) -> str:
    """The message of the disk or of DuckDB on one line."""
    if isinstance(error, OSError):
        name = error.filename2 or error.filename
        return f"{f'{name}: ' if name else ''}{error.strerror or error}"
    return str(error).splitlines()[0].removesuffix(".")


def _log_of(database: Path) -> Path:
    """The write-ahead log of a DuckDB file."""
    return database.with_name(f"{database.name}.wal")


def _spill_of(copy: Path) -> Path:
    """The folder for data that does not fit into memory: on the same disk as the copy, which has enough room."""
    return copy.with_name(f"{copy.name}.tmp")


def _remove(copy: Path) -> None:
    """Remove a private copy and its companions: a log, data that did not fit into memory, rows to land."""
    copy.unlink(missing_ok=True)
    _log_of(copy).unlink(missing_ok=True)
    shutil.rmtree(_spill_of(copy), ignore_errors=True)
    for rows in copy.parent.glob(f"{glob.escape(copy.name)}.rows-*"):
        shutil.rmtree(rows, ignore_errors=True)
